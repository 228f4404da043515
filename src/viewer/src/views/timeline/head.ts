// The head of a plane: all of it in small with the visible part marked, a ruler, the measured region.
// In: a scene. Out: pixels. Left to neighbours: the rows (paint.ts), dragging in it (input.ts).
// The small picture is drawn once and kept until the data, the colours or the width change.

import { duration } from "../../ui/format";
import type { Plane } from "./model";
import { fitted, measure, paintRow, regionsIn, type Scene } from "./paint";
import { type Range, whole } from "./range";
import { ruler } from "./ruler";

export const OVERVIEW = 40;
export const RULER = 24;
export const STRIP = 20;
/** Rows that the small picture shows at most; of more, every so manieth. */
const SMALL_ROWS = 200;

type Context = CanvasRenderingContext2D;

export function headHeight(plane: Plane): number {
  return OVERVIEW + RULER + (plane.regions.length > 0 ? STRIP : 0);
}

export class Overview {
  private canvas: HTMLCanvasElement | null = null;
  private key: unknown[] = [];

  /** The picture for a scene, from the store where nothing changed. */
  picture(scene: Scene): HTMLCanvasElement {
    const { plane, width, unit, palette, tones, hits } = scene;
    const key = [plane, width, unit, palette, tones, hits];
    if (this.canvas && key.every((part, i) => part === this.key[i])) return this.canvas;
    const canvas = (this.canvas ??= document.createElement("canvas"));
    this.key = key;
    canvas.width = Math.max(1, Math.round(width / unit));
    canvas.height = Math.round(OVERVIEW / unit);
    const c = canvas.getContext("2d")!;
    c.setTransform(1 / unit, 0, 0, 1 / unit, 0, 0);
    c.fillStyle = palette.page;
    c.fillRect(0, 0, width, OVERVIEW);
    const all: Scene = { ...scene, view: whole(plane), height: OVERVIEW };
    const k = width / (all.view.to - all.view.from);
    for (const region of plane.regions) {
      c.fillStyle = palette.region;
      c.fillRect((region.from - all.view.from) * k, 0, (region.to - region.from) * k, OVERVIEW);
    }
    const rows = plane.rows.length - 1;
    const room = OVERVIEW - 8;
    const each = Math.min(7, room / Math.max(rows, 1));
    const first = (OVERVIEW - rows * each) / 2;
    const stride = Math.max(1, Math.ceil(rows / SMALL_ROWS));
    for (let r = 0; r < rows; r += stride) paintRow(c, all, r, first + r * each, Math.max(each - Math.min(1, each * 0.15), unit), false);
    return canvas;
  }
}

export interface HeadState {
  overview: Overview;
  /** Where the pointer is, in pixels; null: outside. */
  cursor: number | null;
  /** A range that is being chosen. */
  brush: Range | null;
  /** The selected mark; -1: none. */
  selected: number;
}

/** Answers with what the labels of the ruler count from. */
export function paintHead(c: Context, scene: Scene, state: HeadState): string {
  const { plane, view, width, palette, unit } = scene;
  const { soft, card, edge, accent, axis } = palette;
  c.fillStyle = card;
  c.fillRect(0, 0, width, headHeight(plane));
  const picture = state.overview.picture(scene);
  c.drawImage(picture, 0, 0, picture.width * unit, OVERVIEW);
  const all = whole(plane);
  const scale = width / (all.to - all.from);
  let x0 = (view.from - all.from) * scale;
  let x1 = (view.to - all.from) * scale;
  if (x1 - x0 < 6) [x0, x1] = [(x0 + x1) / 2 - 3, (x0 + x1) / 2 + 3];
  // What is not seen is under a veil; the frame shows what is.
  c.globalAlpha = 0.62;
  c.fillStyle = palette.page;
  c.fillRect(0, 0, Math.max(0, x0), OVERVIEW);
  c.fillRect(x1, 0, Math.max(0, width - x1), OVERVIEW);
  c.globalAlpha = 1;
  c.strokeStyle = accent;
  c.lineWidth = 1.5;
  c.strokeRect(x0 + 0.75, 0.75, x1 - x0 - 1.5, OVERVIEW - 1.5);
  c.fillStyle = accent;
  if (x1 - x0 > 18) for (const x of [x0, x1 - 3]) c.fillRect(x, OVERVIEW / 2 - 8, 3, 16);
  if (state.selected >= 0) {
    const x = ((plane.start[state.selected]! + plane.end[state.selected]!) / 2 - all.from) * scale;
    c.fillStyle = palette.text;
    c.beginPath();
    c.moveTo(x - 4.5, 0);
    c.lineTo(x + 4.5, 0);
    c.lineTo(x, 7);
    c.fill();
  }

  const top = OVERVIEW;
  c.font = `11px ${palette.font}`;
  c.textBaseline = "middle";
  const { ticks, minor, base, from } = ruler(view, width);
  const k = width / (view.to - view.from);
  c.fillStyle = palette.grid;
  if (minor * k >= 5) {
    for (let n = Math.ceil(view.from / minor); n * minor <= view.to; n++) {
      c.fillRect(Math.round((n * minor - view.from) * k), top + RULER - 5, 1, 5);
    }
  }
  for (const tick of ticks) {
    const x = Math.round((tick.time - view.from) * k);
    c.fillStyle = axis;
    c.fillRect(x, top + RULER - 9, 1, 9);
    const w = measure(c, tick.label);
    if (x + 4 + w > width) continue;
    c.fillStyle = soft;
    c.fillText(tick.label, x + 4, top + RULER / 2 - 1);
  }
  c.fillStyle = edge;
  c.fillRect(0, top + RULER - 1, width, 1);
  paintStrip(c, scene, top + RULER);
  paintCursor(c, scene, state, top, from);
  return base;
}

/** The measured region, named where it can be seen. */
function paintStrip(c: Context, scene: Scene, top: number): void {
  const { plane, width, palette } = scene;
  if (plane.regions.length === 0) return;
  for (const { region, x0, x1 } of regionsIn(scene)) {
    c.fillStyle = palette.region;
    c.fillRect(x0, top, x1 - x0, STRIP);
    c.fillStyle = palette.accent;
    c.fillRect(x0, top, x1 - x0, 2);
    const length = region.open ? "never closed" : duration(region.to - region.from);
    const said = `measured region · ${length}`;
    const w = measure(c, said);
    // Inside it where there is room, else beside it.
    if (w <= x1 - x0 - 12 || x1 + 6 + w > width) {
      const left = w <= x1 - x0 - 12 || x0 - 6 - w < 0 ? x0 + 6 : x0 - 6 - w;
      c.fillText(left < x0 ? said : fitted(c, said, x1 - x0 - 12), left, top + STRIP / 2 + 1.5);
    } else c.fillText(said, x1 + 6, top + STRIP / 2 + 1.5);
  }
  c.fillStyle = palette.edge;
  c.fillRect(0, top + STRIP - 1, width, 1);
}

/** The instant under the pointer, or the range that is being chosen, on the ruler. */
function paintCursor(c: Context, { view, width, palette }: Scene, { cursor, brush }: HeadState, top: number, base: number): void {
  if (cursor === null && !brush) return;
  const k = width / (view.to - view.from);
  let said: string;
  let x = cursor ?? 0;
  if (brush) {
    const [x0, x1] = [(brush.from - view.from) * k, (brush.to - view.from) * k];
    c.fillStyle = palette.region;
    c.fillRect(x0, top, x1 - x0, RULER);
    said = duration(brush.to - brush.from);
    x = (x0 + x1) / 2;
  } else {
    said = `${base > 0 ? "+" : ""}${duration(view.from + x / k - base)}`;
    c.fillStyle = palette.text;
    c.fillRect(Math.round(x), top, 1, RULER);
  }
  const w = measure(c, said) + 10;
  const left = Math.min(Math.max(x - w / 2, 0), width - w);
  c.fillStyle = palette.text;
  c.beginPath();
  c.roundRect(left, top + 3, w, RULER - 8, 3);
  c.fill();
  c.fillStyle = palette.card;
  c.fillText(said, left + 5, top + RULER / 2 - 0.5);
}
