// One plane on the screen: what is seen of it, what is chosen, and when it is drawn.
// In: a plane, its elements, what the reader does (input.ts). Out: frames; callbacks for what the page keeps. Left to
// neighbours: how it is drawn (paint.ts, head.ts), the address (plane.tsx).
// However much happens between two frames of the screen, one is drawn.

import { headHeight, Overview, paintHead } from "./head";
import { type Layout, layOut, rowAt, rowTop, ROW } from "./layout";
import { groupOf, type Plane } from "./model";
import { paintLanes, type Scene } from "./paint";
import { type Palette, palette } from "./palette";
import { nameTone } from "./clocks";
import * as ranges from "./range";
import type { Range } from "./range";
import type { Hits } from "./search";
import { hit } from "./visible";

export interface Parts {
  lanes: HTMLCanvasElement;
  head: HTMLCanvasElement;
  scroller: HTMLElement;
  /** Says what the labels of the ruler count from. */
  base: HTMLElement;
}

export interface Hooks {
  /** The visible part changed. */
  onView(view: Range): void;
  onSelect(mark: number): void;
  onHover(mark: number, x: number, y: number): void;
}

export class Chart {
  view: Range;
  layout: Layout;
  selected = -1;
  hover = -1;
  cursor: number | null = null;
  brush: Range | null = null;
  /** Dragging chooses a range to zoom to. */
  brushing = false;
  private folded = new Set<number>();
  private hits: Hits | null = null;
  private byName = false;
  private dark = false;
  private colors: { palette: Palette; unit: number } | null = null;
  private named: { tones: Uint8Array; palette: Palette } | null = null;
  private parts: Parts | null = null;
  private frame = 0;
  private overview = new Overview();
  private observer: ResizeObserver | null = null;

  constructor(
    readonly plane: Plane,
    private readonly hooks: Hooks,
  ) {
    this.view = ranges.home(plane);
    this.layout = layOut(plane, this.folded);
  }

  attach(parts: Parts): () => void {
    this.parts = parts;
    this.observer = new ResizeObserver(() => this.request());
    this.observer.observe(parts.scroller);
    const again = () => this.request();
    parts.scroller.addEventListener("scroll", again, { passive: true });
    this.request();
    return () => {
      this.observer?.disconnect();
      parts.scroller.removeEventListener("scroll", again);
      cancelAnimationFrame(this.frame);
      this.frame = 0;
      this.parts = null;
    };
  }

  get width(): number {
    return this.parts ? Math.max(1, this.parts.scroller.clientWidth - this.parts.lanes.offsetLeft) : 1;
  }

  get scroll(): number {
    return this.parts?.scroller.scrollTop ?? 0;
  }

  /** Draws before the next frame of the screen. */
  request(): void {
    if (this.frame === 0 && this.parts) this.frame = requestAnimationFrame(() => this.draw());
  }

  style(dark: boolean, byName: boolean): void {
    if (dark !== this.dark) this.colors = this.named = null;
    this.dark = dark;
    this.byName = byName;
    this.request();
  }

  find(hits: Hits | null): void {
    this.hits = hits;
    this.request();
  }

  fold(groups: ReadonlySet<number>): void {
    this.folded = new Set(groups);
    this.layout = layOut(this.plane, this.folded);
    this.request();
  }

  setView(view: Range, tell = true): void {
    const next = ranges.clamp(view, this.plane);
    if (next.from === this.view.from && next.to === this.view.to) return;
    this.view = next;
    this.request();
    if (tell) this.hooks.onView(next);
  }

  /** `x`: pixel that stays where it is; without it the middle. */
  zoom(factor: number, x = this.width / 2): void {
    this.setView(ranges.zoom(this.view, factor, this.timeAt(x), this.plane));
  }

  pan(pixels: number): void {
    this.setView(ranges.pan(this.view, (pixels * (this.view.to - this.view.from)) / this.width, this.plane));
  }

  fitAll(): void {
    this.setView(ranges.whole(this.plane));
  }

  fitRegion(): void {
    this.setView(ranges.region(this.plane));
  }

  fitMark(mark: number): void {
    if (mark >= 0) this.setView(ranges.fit(this.plane.start[mark]!, this.plane.end[mark]!, 0.15, this.plane));
  }

  /** Marks a selection; `show`: moves as little as brings it into view. */
  mark(mark: number, show: boolean, inTime = true): void {
    this.selected = mark;
    if (mark >= 0 && show) this.reveal(mark, inTime);
    this.request();
  }

  /** Brings a mark into sight; `inTime` false: its row alone. */
  reveal(mark: number, inTime = true): void {
    const { plane, parts } = this;
    if (inTime) this.setView(ranges.reveal(this.view, plane.start[mark]!, plane.end[mark]!, plane));
    if (!parts) return;
    const top = rowTop(this.layout, plane, plane.rowOf[mark]!);
    const seen = parts.scroller.clientHeight;
    // Out of sight it comes to the middle, so that what is above and below it is seen as well.
    if (top < this.scroll || top + ROW > this.scroll + seen) parts.scroller.scrollTop = top - seen / 2;
  }

  isFolded(mark: number): boolean {
    return this.folded.has(groupOf(this.plane, this.plane.rowOf[mark]!));
  }

  timeAt(x: number): number {
    return this.view.from + (x * (this.view.to - this.view.from)) / this.width;
  }

  /** Mark at a place of the canvas of rows; -1: none. */
  markAt(x: number, y: number): number {
    const row = rowAt(this.layout, this.plane, y + this.scroll);
    if (row < 0) return -1;
    return hit(this.plane, row, this.timeAt(x), (3 * (this.view.to - this.view.from)) / this.width);
  }

  point(x: number | null, y: number): void {
    const mark = x === null || this.brush ? -1 : this.markAt(x, y);
    this.cursor = x;
    if (mark !== this.hover || mark >= 0) this.hooks.onHover(mark, x ?? 0, y);
    this.hover = mark;
    this.request();
  }

  select(mark: number): void {
    this.hooks.onSelect(mark);
  }

  scrollBy(pixels: number): void {
    if (this.parts) this.parts.scroller.scrollTop += pixels;
  }

  /** Where the mark is, in pixels of the canvas of rows. */
  placeOf(mark: number): { x: number; y: number } {
    const k = this.width / (this.view.to - this.view.from);
    const x = Math.min(Math.max((this.plane.start[mark]! - this.view.from) * k, 0), this.width);
    return { x, y: rowTop(this.layout, this.plane, this.plane.rowOf[mark]!) - this.scroll };
  }

  private draw(): void {
    this.frame = 0;
    const { parts, plane } = this;
    if (!parts) return;
    const unit = 1 / (devicePixelRatio || 1);
    if (!this.colors || this.colors.unit !== unit) {
      this.colors = { palette: palette(plane.tones, this.dark, 1 / unit), unit };
      this.named = null;
    }
    const width = this.width;
    const height = parts.scroller.clientHeight;
    const lanes = sized(parts.lanes, width, height, unit);
    const head = sized(parts.head, width, headHeight(plane), unit);
    if (!lanes || !head) return;
    const { tones, palette: colors } = this.byName ? this.namedTones(unit) : { tones: plane.tone, palette: this.colors.palette };
    const scene: Scene = { plane, view: this.view, width, height, unit, palette: colors, tones, hits: this.hits };
    paintLanes(lanes, scene, this.layout, this.scroll, this.selected, this.hover);
    this.paintPointer(lanes, width, height, colors);
    const base = paintHead(head, scene, { overview: this.overview, cursor: this.cursor, brush: this.brush, selected: this.selected });
    if (parts.base.textContent !== base) parts.base.textContent = base;
    parts.lanes.dispatchEvent(new Event("drawn"));
  }

  private paintPointer(c: CanvasRenderingContext2D, width: number, height: number, colors: Palette): void {
    if (this.brush) {
      const k = width / (this.view.to - this.view.from);
      const x0 = (this.brush.from - this.view.from) * k;
      c.globalAlpha = 0.18;
      c.fillStyle = colors.accent;
      c.fillRect(x0, 0, (this.brush.to - this.brush.from) * k, height);
      c.globalAlpha = 1;
    } else if (this.cursor !== null) {
      c.globalAlpha = 0.35;
      c.fillStyle = colors.text;
      c.fillRect(Math.round(this.cursor), 0, 1, height);
      c.globalAlpha = 1;
    }
  }

  /** Colours by name: the same name has the same colour in every view. */
  private namedTones(unit: number): { tones: Uint8Array; palette: Palette } {
    if (this.named) return this.named;
    const { plane } = this;
    const ofName = Uint8Array.from(plane.names, nameTone);
    const tones = new Uint8Array(plane.count);
    for (let i = 0; i < plane.count; i++) tones[i] = ofName[plane.name[i]!]!;
    const tokens = ["--c0", "--c1", "--c2", "--c3", "--c4", "--c5", "--c6"].map((token) => ({ token, label: "" }));
    return (this.named = { tones, palette: palette(tokens, this.dark, 1 / unit) });
  }
}

/** The context of a canvas whose pixels are those of the screen. */
function sized(canvas: HTMLCanvasElement, width: number, height: number, unit: number): CanvasRenderingContext2D | null {
  const w = Math.max(1, Math.round(width / unit));
  const h = Math.max(1, Math.round(height / unit));
  if (canvas.width !== w) canvas.width = w;
  if (canvas.height !== h) canvas.height = h;
  // Both canvases are as wide as the rows, beside whose scroll bar the head goes on.
  if (canvas.style.width !== `${width}px`) canvas.style.width = `${width}px`;
  if (canvas.style.height !== `${height}px`) canvas.style.height = `${height}px`;
  const c = canvas.getContext("2d");
  c?.setTransform(1 / unit, 0, 0, 1 / unit, 0, 0);
  return c;
}
