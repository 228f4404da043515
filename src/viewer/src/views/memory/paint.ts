// How live bytes are drawn: a stack of stairs, the steps of the update above it, the peak, the life of one storage.
// In: states (series.ts), an area (plot.tsx). Out: pixels. Left to neighbours: axes, cursor, words around the plot.

import { canvasMeaning, token } from "../../ui/colors";
import { printable, short } from "../../ui/text";
import { type Area, FONT, pill } from "./plot";
import { type Drawn, type Live, visible } from "./series";

/** A stretch of the program: a step, drawn above the plot. */
export interface Stretch {
  name: string;
  from: number;
  to: number;
}

export const STRIP = 16;
/** Room above the plot: the strip of steps, the row of labels. */
export const ABOVE = STRIP + 24;

export function paintLive(ctx: CanvasRenderingContext2D, area: Area, live: Live): void {
  const drawn = visible(live, area.from, area.to, area.width);
  const { left, top, width, height } = area;
  ctx.save();
  ctx.beginPath();
  ctx.rect(left, top, width, height);
  ctx.clip();
  const under = new Float64Array(drawn.length);
  const spots: [name: string, x: number, y: number][] = [];
  live.categories.forEach((name, c) => {
    const over = under.map((n, i) => n + live.values[c]![drawn.state[i]!]!);
    ctx.fillStyle = canvasMeaning(name);
    band(ctx, area, drawn, under, over);
    // A thin line of the card between two categories tells them apart without their colours, where it is not all there is.
    if (c > 0 && drawn.length < width / 2) {
      ctx.strokeStyle = token("--card");
      ctx.lineWidth = 1;
      stairs(ctx, area, drawn, under);
      ctx.stroke();
    }
    ctx.font = FONT;
    const spot = roomFor(area, drawn, under, over, ctx.measureText(printable(name)).width + 14);
    if (spot) spots.push([printable(name), ...spot]);
    under.set(over);
  });
  if (drawn.bounds) {
    ctx.fillStyle = token("--text");
    ctx.globalAlpha = 0.17;
    band(ctx, area, drawn, under, drawn.bounds);
    ctx.globalAlpha = 1;
  }
  ctx.fillStyle = token("--on-fill");
  ctx.textAlign = "center";
  ctx.textBaseline = "middle";
  for (const [name, x, y] of spots) ctx.fillText(name, x, y);
  ctx.restore();
}

/** What lies between two stairs. */
function band(ctx: CanvasRenderingContext2D, area: Area, drawn: Drawn, under: Float64Array, over: Float64Array): void {
  stairs(ctx, area, drawn, over);
  for (let i = drawn.length - 1; i >= 0; i--) {
    ctx.lineTo(area.left + drawn.x[i + 1]!, area.y(under[i]!));
    ctx.lineTo(area.left + drawn.x[i]!, area.y(under[i]!));
  }
  ctx.closePath();
  ctx.fill();
}

function stairs(ctx: CanvasRenderingContext2D, area: Area, drawn: Drawn, values: Float64Array): void {
  ctx.beginPath();
  for (let i = 0; i < drawn.length; i++) {
    const y = area.y(values[i]!);
    if (i === 0) ctx.moveTo(area.left + drawn.x[i]!, y);
    else ctx.lineTo(area.left + drawn.x[i]!, y);
    ctx.lineTo(area.left + drawn.x[i + 1]!, y);
  }
}

/** Where a band is thick enough for its name; null: nowhere. */
function roomFor(area: Area, drawn: Drawn, under: Float64Array, over: Float64Array, width: number): [number, number] | null {
  let best: [number, number] | null = null;
  let most = 15;
  for (let n = 1; n < 24; n++) {
    const x = (area.width * n) / 24;
    const [from, to] = [x - width / 2, x + width / 2];
    if (from < 0 || to > area.width) continue;
    let low = 0;
    let high = Infinity;
    for (let i = 0; i < drawn.length; i++) {
      if (drawn.x[i + 1]! <= from || drawn.x[i]! >= to) continue;
      low = Math.max(low, under[i]!);
      high = Math.min(high, over[i]!);
    }
    if (drawn.length === 0 || drawn.x[0]! > from || !Number.isFinite(high)) continue;
    const thick = area.y(low) - area.y(high);
    if (thick > most) {
      most = thick;
      best = [area.left + x, (area.y(low) + area.y(high)) / 2];
    }
  }
  return best;
}

/** Steps of the update, named where there is room. */
export function paintSteps(ctx: CanvasRenderingContext2D, area: Area, steps: Stretch[]): void {
  ctx.font = FONT;
  ctx.textAlign = "center";
  ctx.textBaseline = "middle";
  for (const { name, from, to } of steps) {
    if (to <= area.from || from >= area.to) continue;
    const x = Math.max(area.left, area.x(from));
    const width = Math.min(area.left + area.width, area.x(to)) - x;
    ctx.fillStyle = canvasMeaning(name);
    ctx.fillRect(x, 0, Math.max(1, width - 1), STRIP);
    const text = printable(name);
    if (ctx.measureText(text).width + 8 > width) continue;
    ctx.fillStyle = token("--on-fill");
    ctx.fillText(text, x + width / 2, STRIP / 2 + 0.5);
  }
}

export function paintPeak(ctx: CanvasRenderingContext2D, area: Area, at: number, live: number, text: string): void {
  const color = token("--text");
  const x = area.x(at);
  if (x < area.left - 1 || x > area.left + area.width + 1) {
    const left = x < area.left;
    pill(ctx, area, left ? `← ${text}` : `${text} →`, left ? area.left : area.left + area.width, STRIP + 12, token("--soft"));
    return;
  }
  ctx.strokeStyle = color;
  ctx.lineWidth = 1.5;
  ctx.setLineDash([5, 3]);
  ctx.beginPath();
  ctx.moveTo(Math.round(x) + 0.5, STRIP + 20);
  ctx.lineTo(Math.round(x) + 0.5, area.top + area.height);
  ctx.stroke();
  ctx.setLineDash([]);
  ctx.fillStyle = color;
  ctx.strokeStyle = token("--card");
  ctx.lineWidth = 2;
  ctx.beginPath();
  ctx.arc(x, area.y(live), 4.5, 0, 2 * Math.PI);
  ctx.fill();
  ctx.stroke();
  pill(ctx, area, text, x, STRIP + 12, color);
}

/** From allocation to end of one storage; without an end to the end of the window. */
export function paintLife(ctx: CanvasRenderingContext2D, area: Area, name: string, from: number, to: number | null): void {
  const x0 = Math.max(area.left, area.x(from));
  const x1 = Math.min(area.left + area.width, to === null ? Infinity : area.x(to));
  if (x1 < area.left || x0 > area.left + area.width) return;
  const y = area.top + area.height - 7;
  ctx.fillStyle = token("--card");
  ctx.fillRect(x0 - 1, y - 5, Math.max(4, x1 - x0 + 2), 11);
  ctx.fillStyle = token("--accent");
  ctx.fillRect(x0, y - 3, Math.max(2, x1 - x0), 7);
  pill(ctx, area, short(name, 40), (x0 + x1) / 2, y - 14, token("--accent"));
}
