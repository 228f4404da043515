// Pointer, wheel and keys on a plane.
// In: events. Out: calls of the chart. Left to neighbours: what they do (chart.ts).
// Every movement has a key, and every key a button: nothing needs a pointer.

import type { Chart } from "./chart";
import { OVERVIEW } from "./head";
import { whole } from "./range";
import { type Direction, neighbour } from "./visible";

export const KEYS: [string, string][] = [
  ["wheel", "zoom where the pointer is; sideways, or with Shift: move; with Alt: scroll the rows"],
  ["drag", "move; with Shift, or on the ruler: zoom to a range"],
  ["W S, + −", "zoom in, out"],
  ["A D", "move left, right"],
  ["0", "the measured region"],
  ["9", "everything"],
  ["F", "the selection"],
  ["Home End", "the beginning, the end"],
  ["← → ↑ ↓", "the next mark in its row, above, below; without a selection they move the view"],
  ["Tab", "the next mark, while one is selected; Esc, then Tab, leaves the timeline"],
  ["Enter", "in the search: the next one found, with Shift the one before"],
];

/** Pixels that a pointer may move and still have clicked. */
const STILL = 4;

export function listen(chart: Chart, lanes: HTMLCanvasElement, head: HTMLCanvasElement): () => void {
  const stop = new AbortController();
  const on = <E extends Event>(target: HTMLElement, name: string, use: (event: E) => void) =>
    target.addEventListener(name, use as EventListener, { signal: stop.signal, passive: false });

  const wheel = (event: WheelEvent) => {
    const unit = event.deltaMode === 1 ? 18 : event.deltaMode === 2 ? 300 : 1;
    const [dx, dy] = [event.deltaX * unit, event.deltaY * unit];
    if (event.altKey) chart.scrollBy(dy);
    else if (event.shiftKey || Math.abs(dx) > Math.abs(dy)) chart.pan(event.shiftKey && dx === 0 ? dy : dx);
    else {
      const all = whole(chart.plane);
      const out = dy > 0 && !event.ctrlKey;
      // Everything is seen already: the page scrolls instead.
      if (out && chart.view.to - chart.view.from >= (all.to - all.from) * 0.999999) return;
      chart.zoom(Math.exp(Math.max(-1, Math.min(1, dy * (event.ctrlKey ? 0.01 : 0.0022)))), event.offsetX);
    }
    event.preventDefault();
  };
  on(lanes, "wheel", wheel);
  on(head, "wheel", wheel);

  let down: { x: number; y: number; lastX: number; lastY: number; what: "pan" | "brush" | "window" | "left" | "right"; moved: boolean } | null = null;
  const place = (event: PointerEvent, target: HTMLElement) => {
    const box = target.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
  };
  const scale = () => {
    const all = whole(chart.plane);
    return { all, k: chart.width / (all.to - all.from) };
  };
  const brushTo = (x0: number, x1: number) => {
    const [a, b] = [chart.timeAt(Math.max(0, Math.min(x0, x1))), chart.timeAt(Math.min(chart.width, Math.max(x0, x1)))];
    chart.brush = { from: a, to: b };
    chart.point(null, 0);
  };

  on<PointerEvent>(lanes, "pointerdown", (event) => {
    if (event.button !== 0) return;
    const { x, y } = place(event, lanes);
    down = { x, y, lastX: x, lastY: y, what: event.shiftKey || chart.brushing ? "brush" : "pan", moved: false };
  });
  on<PointerEvent>(head, "pointerdown", (event) => {
    if (event.button !== 0) return;
    const { x, y } = place(event, head);
    if (y >= OVERVIEW) down = { x, y, lastX: x, lastY: y, what: "brush", moved: false };
    else {
      const { all, k } = scale();
      const [x0, x1] = [(chart.view.from - all.from) * k, (chart.view.to - all.from) * k];
      const edge = x1 - x0 > 18 ? 6 : 0;
      const what = edge > 0 && Math.abs(x - x0) < edge ? "left" : edge > 0 && Math.abs(x - x1) < edge ? "right" : "window";
      down = { x, y, lastX: x, lastY: y, what, moved: true };
      if (what === "window" && (x < x0 || x > x1)) centre(x);
    }
    head.setPointerCapture(event.pointerId);
    event.preventDefault();
  });
  const centre = (x: number) => {
    const { all, k } = scale();
    const half = (chart.view.to - chart.view.from) / 2;
    const time = all.from + x / k;
    chart.setView({ from: time - half, to: time + half });
  };
  const move = (event: PointerEvent, target: HTMLElement) => {
    const { x, y } = place(event, target);
    if (!down) {
      chart.point(x, target === lanes ? y : -1);
      if (target === head) head.style.cursor = y < OVERVIEW ? "grab" : "col-resize";
      return;
    }
    if (!down.moved && Math.hypot(x - down.x, y - down.y) < STILL) return;
    if (!down.moved) target.setPointerCapture(event.pointerId);
    down.moved = true;
    const { all, k } = scale();
    if (down.what === "pan") {
      chart.pan(down.lastX - x);
      chart.scrollBy(down.lastY - y);
      chart.point(null, 0);
      lanes.style.cursor = "grabbing";
    } else if (down.what === "brush") brushTo(down.x, x);
    else if (down.what === "window") {
      const by = (x - down.lastX) / k;
      chart.setView({ from: chart.view.from + by, to: chart.view.to + by });
    } else {
      const time = all.from + x / k;
      const { from, to } = chart.view;
      chart.setView(down.what === "left" ? { from: Math.min(time, to - 1), to } : { from, to: Math.max(time, from + 1) });
    }
    down.lastX = x;
    down.lastY = y;
  };
  const up = (event: PointerEvent, target: HTMLElement) => {
    const was = down;
    down = null;
    lanes.style.cursor = "";
    if (!was) return;
    const { x, y } = place(event, target);
    if (was.what === "brush" && chart.brush) {
      const chosen = chart.brush;
      chart.brush = null;
      if (was.moved) chart.setView(chosen);
      chart.request();
    } else if (!was.moved && target === lanes) chart.select(chart.markAt(x, y));
  };
  for (const target of [lanes, head]) {
    on<PointerEvent>(target, "pointermove", (event) => move(event, target));
    on<PointerEvent>(target, "pointerup", (event) => up(event, target));
    on<PointerEvent>(target, "pointercancel", () => {
      down = null;
      chart.brush = null;
      chart.request();
    });
    on<PointerEvent>(target, "pointerleave", () => !down && chart.point(null, 0));
  }
  on<MouseEvent>(lanes, "dblclick", (event) => chart.fitMark(chart.markAt(event.offsetX, event.offsetY)));
  on<KeyboardEvent>(lanes, "keydown", (event) => {
    if (!key(chart, event, true)) return;
    event.preventDefault();
    event.stopPropagation();
  });
  return () => stop.abort();
}

const ARROWS: Record<string, Direction> = { ArrowLeft: "left", ArrowRight: "right", ArrowUp: "up", ArrowDown: "down" };

/** Whether a key did something. `focused`: the chart has the focus, so that arrows and Tab are its own. */
export function key(chart: Chart, event: KeyboardEvent, focused: boolean): boolean {
  if (event.ctrlKey || event.metaKey || event.altKey) return false;
  const step = chart.width * 0.15;
  const length = chart.view.to - chart.view.from;
  const all = whole(chart.plane);
  switch (event.key) {
    case "w":
    case "W":
    case "+":
    case "=":
      chart.zoom(1 / 1.5, chart.cursor ?? undefined);
      return true;
    case "s":
    case "S":
    case "-":
    case "_":
      chart.zoom(1.5, chart.cursor ?? undefined);
      return true;
    case "a":
    case "A":
      chart.pan(-step);
      return true;
    case "d":
    case "D":
      chart.pan(step);
      return true;
    case "0":
      chart.fitRegion();
      return true;
    case "9":
      chart.fitAll();
      return true;
    case "f":
    case "F":
      if (chart.selected < 0) return false;
      chart.fitMark(chart.selected);
      return true;
    case "Home":
      chart.setView({ from: all.from, to: all.from + length });
      return true;
    case "End":
      chart.setView({ from: all.to - length, to: all.to });
      return true;
  }
  if (!focused) return false;
  const tab = event.key === "Tab";
  const direction = tab ? (event.shiftKey ? "left" : "right") : ARROWS[event.key];
  if (!direction) return false;
  if (chart.selected >= 0 && (tab || !event.shiftKey)) {
    const next = neighbour(chart.plane, chart.selected, direction);
    // At the last mark of a row Tab leaves, an arrow stays.
    if (next < 0) return !tab;
    chart.select(next);
    chart.reveal(next);
    return true;
  }
  if (tab) return false;
  if (direction === "left" || direction === "right") chart.pan(direction === "left" ? -step : step);
  else chart.scrollBy(direction === "up" ? -44 : 44);
  return true;
}
