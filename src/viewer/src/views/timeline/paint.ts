// Draws the rows of a plane: marks as boxes, and those narrower than a pixel as columns of it.
// In: a plane, a range, a layout, what is found and selected. Out: pixels. Left to neighbours: the ruler (head.ts), when
// (chart.ts).
// A column is as strong as its time is covered, so that a thousand short marks with gaps do not look like one long mark.
// Only what is seen is looked at: a row of a million marks costs as many bisections as it has pixels.

import { duration } from "../../ui/format";
import { groupAt, type Layout, rowTop } from "./layout";
import { nameOf } from "./marks";
import { groupOf, MERGED, OPEN, type Plane, TIMELESS } from "./model";
import { type Fill, LEVELS, type Palette } from "./palette";
import type { Range } from "./range";
import type { Hits } from "./search";
import { firstEnding, firstStarting } from "./visible";

export interface Scene {
  plane: Plane;
  view: Range;
  width: number;
  height: number;
  /** Width of a device pixel. */
  unit: number;
  palette: Palette;
  tones: Uint8Array;
  hits: Hits | null;
}

type Context = CanvasRenderingContext2D;

/** Rows between `scroll` and the height of the canvas. */
export function paintLanes(c: Context, scene: Scene, layout: Layout, scroll: number, selected: number, hover: number): void {
  const { plane, palette, width, height } = scene;
  c.fillStyle = palette.card;
  c.fillRect(0, 0, width, height);
  paintRegions(c, scene, 0, height);
  paintKnown(c, scene, height);
  if (plane.groups.length === 0) return;
  c.textBaseline = "middle";
  c.font = `11.5px ${palette.font}`;
  for (let g = groupAt(layout, scroll); g < plane.groups.length; g++) {
    if (layout.tops[g]! - scroll >= height) break;
    const top = layout.tops[g]! + layout.inset[g]! - scroll;
    const group = plane.groups[g]!;
    const each = layout.row[g]!;
    const folded = layout.folded.has(g);
    const first = Math.max(0, Math.floor(-top / each));
    const last = Math.min(group.rows, Math.ceil((height - top) / each));
    // Rows of a folded group may be thinner than a pixel: one row of each pixel is drawn.
    const stride = Math.max(1, Math.floor(scene.unit / each));
    for (let r = first; r < last; r += stride) {
      const y = top + r * each;
      paintRow(c, scene, group.row + r, y, folded ? Math.max(scene.unit, each - (each > 3 ? 1 : 0)) : each - 2, !folded);
    }
    c.fillStyle = palette.edge;
    c.fillRect(0, Math.round(layout.tops[g]! + layout.heights[g]! - scroll) - 1, width, 1);
  }
  if (hover >= 0 && hover !== selected) outline(c, scene, layout, scroll, hover, 1);
  if (selected >= 0) outline(c, scene, layout, scroll, selected, 2);
}

/** The measured regions that can be seen, and from where to where. */
export function* regionsIn({ plane, view, width }: Scene) {
  const k = width / (view.to - view.from);
  for (const region of plane.regions) {
    const x0 = Math.max(0, (region.from - view.from) * k);
    const x1 = Math.min(width, (region.to - view.from) * k);
    if (x1 > 0 && x0 < width) yield { region, x0, x1 };
  }
}

function paintRegions(c: Context, scene: Scene, top: number, height: number): void {
  const { width, palette } = scene;
  for (const { region, x0, x1 } of regionsIn(scene)) {
    c.fillStyle = palette.region;
    c.fillRect(x0, top, x1 - x0, height);
    c.fillStyle = palette.accent;
    if (x0 > 0) c.fillRect(Math.round(x0), top, 1, height);
    if (x1 < width && !region.open) c.fillRect(Math.round(x1) - 1, top, 1, height);
  }
}

/** A line at the last recorded instant, where something goes on after it. */
function paintKnown(c: Context, { plane, view, width, palette }: Scene, height: number): void {
  const x = Math.round(((plane.known - view.from) * width) / (view.to - view.from));
  if (plane.open === 0 || x < 0 || x > width) return;
  c.strokeStyle = palette.axis;
  c.setLineDash([2, 3]);
  c.beginPath();
  c.moveTo(x + 0.5, 0);
  c.lineTo(x + 0.5, height);
  c.stroke();
  c.setLineDash([]);
}

export function paintRow(c: Context, scene: Scene, row: number, y: number, h: number, labels: boolean): void {
  const { plane, view, width, unit, tones, palette, hits } = scene;
  const { start, end, busy, kind } = plane;
  const k = width / (view.to - view.from);
  const last = plane.rows[row + 1]!;
  let i = firstEnding(end, plane.rows[row]!, last, view.from);
  // Neighbouring columns of one colour are one rectangle.
  let runFrom = 0;
  let runTo = -1;
  let runFill = "";
  const flush = () => {
    if (runTo >= runFrom && runFill) {
      c.fillStyle = runFill;
      c.fillRect(runFrom * unit, y, (runTo - runFrom + 1) * unit, h);
    }
    runTo = -1;
    runFill = "";
  };
  while (i < last && start[i]! < view.to) {
    const x0 = (start[i]! - view.from) * k;
    const x1 = (end[i]! - view.from) * k;
    if (x1 - x0 >= 2 * unit) {
      flush();
      box(c, scene, i, x0, x1, y, h, labels);
      i += 1;
      continue;
    }
    const column = Math.max(0, Math.floor(x0 / unit));
    let next = firstStarting(start, i + 1, last, view.from + ((column + 1) * unit) / k);
    if (next - 1 > i && (end[next - 1]! - start[next - 1]!) * k >= 2 * unit) next -= 1;
    const fills = palette.fills[tones[i]!]!;
    let fill: string;
    if (hits && hits.sums[next]! === hits.sums[i]!) fill = fills.dim;
    else if (hits) fill = fills.solid;
    else {
      const covered = ((busy[next]! - busy[i]!) * k) / unit;
      const level = Math.min(LEVELS - 1, Math.floor(covered * LEVELS));
      fill = kind[i] === 1 ? fills.lightLevels[level]! : fills.solidLevels[level]!;
    }
    if (fill !== runFill || column !== runTo + 1) {
      flush();
      runFrom = column;
      runFill = fill;
    }
    runTo = column;
    i = next;
  }
  flush();
}

function box(c: Context, scene: Scene, i: number, x0: number, x1: number, y: number, h: number, labels: boolean): void {
  const { plane, unit, width, palette, hits } = scene;
  const fills = palette.fills[scene.tones[i]!]!;
  const flags = plane.flags[i]!;
  const light = plane.kind[i] === 1;
  const found = hits?.flags[i] === 1;
  const dim = hits !== null && !found;
  const left = Math.max(-8, Math.round(x0 / unit) * unit);
  const right = Math.min(width + 8, Math.round(x1 / unit) * unit);
  // A gap to the next mark, where there is room for one.
  const w = right - left - (right - left >= 4 * unit ? unit : 0);
  if (flags & OPEN) c.fillStyle = fade(c, scene, fills, left, right, dim);
  else if (dim) c.fillStyle = fills.dim;
  else c.fillStyle = light ? fills.light : fills.solid;
  if (flags & MERGED && !dim) {
    c.fillStyle = found ? fills.light : fills.dim;
    rect(c, left, y, w, h);
    if (fills.hatch && w >= 4 * unit) c.fillStyle = fills.hatch;
  }
  rect(c, left, y, w, h);
  if (found) {
    c.strokeStyle = palette.text;
    c.lineWidth = 1;
    if (w > 3) c.strokeRect(left + 0.5, y + 0.5, w - 1, h - 1);
  }
  if (labels && w >= 24) label(c, scene, i, Math.max(left, 0), Math.min(left + w, width), y + h / 2, dim, light);
}

function rect(c: Context, x: number, y: number, w: number, h: number): void {
  if (w < 8 || h < 8) {
    c.fillRect(x, y, w, h);
    return;
  }
  c.beginPath();
  c.roundRect(x, y, w, h, 2);
  c.fill();
}

/** An open end fades: nobody knows how far it goes. */
function fade(c: Context, { plane, view, width }: Scene, fills: Fill, left: number, right: number, dim: boolean) {
  const known = ((plane.known - view.from) * width) / (view.to - view.from);
  if (known >= right || dim) return dim ? fills.dim : fills.solid;
  const gradient = c.createLinearGradient(Math.max(left, known - 24), 0, right, 0);
  gradient.addColorStop(0, fills.solid);
  gradient.addColorStop(1, fills.dim.replace(/[\d.]+\)$/, "0)"));
  return gradient;
}

const PAD = 5;

function label(c: Context, scene: Scene, i: number, left: number, right: number, y: number, dim: boolean, light: boolean): void {
  const { plane, palette } = scene;
  const fills = palette.fills[scene.tones[i]!]!;
  const room = right - left - 2 * PAD;
  const flags = plane.flags[i]!;
  const merged = flags & MERGED;
  const name = merged ? nameOf(plane, i) : plane.names[plane.name[i]!]!;
  const text = fitted(c, name, room);
  if (text === "") return;
  c.fillStyle = dim ? palette.soft : merged ? palette.text : light ? fills.onLight : fills.onSolid;
  c.fillText(text, left + PAD, y + 0.5);
  if (dim || text !== name) return;
  const after = measure(c, text) + 8;
  const more = flags & OPEN ? "never closed" : flags & TIMELESS || merged ? "" : duration(plane.end[i]! - plane.start[i]!);
  if (more === "" || after + measure(c, more) > room) return;
  c.globalAlpha = 0.72;
  c.fillText(more, left + PAD + after, y + 0.5);
  c.globalAlpha = 1;
}

const widths = new Map<string, number>();
let widthsFont = "";

export function measure(c: Context, text: string): number {
  if (c.font !== widthsFont || widths.size > 20000) {
    widths.clear();
    widthsFont = c.font;
  }
  let w = widths.get(text);
  if (w === undefined) widths.set(text, (w = c.measureText(text).width));
  return w;
}

/** A text, or as much of its beginning as there is room for; less than three letters say nothing. */
export function fitted(c: Context, text: string, room: number): string {
  const shown = text.length > 200 ? text.slice(0, 200) : text;
  const whole = measure(c, shown);
  if (whole <= room) return shown;
  const part = Math.floor((shown.length * (room - measure(c, "…"))) / whole);
  for (let n = part; n >= 3 && n > part - 6; n--) {
    const cut = `${shown.slice(0, n)}…`;
    if (measure(c, cut) <= room) return cut;
  }
  return "";
}

/** The box around a mark, drawn over all others; one narrower than it can be seen gets some width. */
function outline(c: Context, scene: Scene, layout: Layout, scroll: number, mark: number, strong: number): void {
  const { plane, view, width, height, palette } = scene;
  const k = width / (view.to - view.from);
  const row = plane.rowOf[mark]!;
  const g = groupOf(plane, row);
  const each = layout.row[g]!;
  const y = rowTop(layout, plane, row) - scroll;
  const h = Math.max(each - 2, 3);
  let x0 = (plane.start[mark]! - view.from) * k;
  let x1 = (plane.end[mark]! - view.from) * k;
  if (x1 < -4 || x0 > width + 4 || y > height || y + h < 0) return;
  if (x1 - x0 < 5) [x0, x1] = [(x0 + x1) / 2 - 2.5, (x0 + x1) / 2 + 2.5];
  const left = Math.max(x0, -6);
  const right = Math.min(x1, width + 6);
  c.lineWidth = strong + 2;
  c.strokeStyle = palette.card;
  c.strokeRect(left, y, right - left, h);
  c.lineWidth = strong;
  c.strokeStyle = palette.text;
  c.strokeRect(left, y, right - left, h);
}
