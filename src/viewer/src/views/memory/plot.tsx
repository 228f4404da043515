// A frame for what happens over time: axes, a brush that zooms, a cursor, and keys for all of it.
// In: a window of a clock, a scale of bytes, a function that paints. Out: `TimePlot`. Left to neighbours: what is painted,
// where the window is kept (window.ts).
// Two canvases: moving the cursor leaves the one with the data alone.

import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { useTheme } from "../../state/theme";
import { token } from "../../ui/colors";
import { byteTicks, timeTicks } from "./axis";
import { clamp, panned, type Span, zoomed } from "./window";

/** Where things are, in CSS pixels. */
export interface Area {
  left: number;
  top: number;
  width: number;
  height: number;
  from: number;
  to: number;
  x: (ns: number) => number;
  y: (bytes: number) => number;
}

interface Props {
  label: string;
  whole: Span;
  window: Span;
  /** Bytes at the top of the scale, at least. */
  top: number;
  height: number;
  /** Pixels above the plot for what `paint` puts there. */
  above?: number;
  paint: (ctx: CanvasRenderingContext2D, area: Area) => void;
  /** What else the painting depends on. */
  deps: unknown[];
  /** Moment of the cursor that stays. */
  pin?: number;
  onPin?: (ns: number | undefined) => void;
  onZoom: (window: Span | null, how: "push" | "replace") => void;
  onHover?: (ns: number | undefined) => void;
  /** The next moment of a change, or the one before. */
  stop?: (from: number, forward: boolean) => number | undefined;
  /** Where key p leads. */
  peak?: number;
  children?: ComponentChildren;
}

const LEFT = 72;
const RIGHT = 14;
const BOTTOM = 26;
export const FONT = '11px system-ui, -apple-system, "Segoe UI", Roboto, Helvetica, Arial, sans-serif';

export function TimePlot(props: Props) {
  const { window, whole, height, above = 6, top, onZoom, onPin, onHover, pin } = props;
  const box = useRef<HTMLDivElement>(null);
  const base = useRef<HTMLCanvasElement>(null);
  const over = useRef<HTMLCanvasElement>(null);
  const [width, setWidth] = useState(0);
  const [cursor, setCursor] = useState<number>();
  const [brush, setBrush] = useState<Span | null>(null);
  const { dark } = useTheme();
  const scale = Math.max(1, top) * 1.04;
  const area = frame(width, height, above, window, scale);

  useLayoutEffect(() => {
    const element = box.current!;
    const measure = () => setWidth(element.clientWidth);
    measure();
    const watch = new ResizeObserver(measure);
    watch.observe(element);
    return () => watch.disconnect();
  }, []);

  useLayoutEffect(() => {
    const ctx = fit(base.current, width, height);
    if (!ctx || area.width <= 0) return;
    drawAxes(ctx, area, scale);
    ctx.save();
    props.paint(ctx, area);
    ctx.restore();
  }, [width, height, above, window[0], window[1], scale, dark, ...props.deps]);

  useLayoutEffect(() => {
    const ctx = fit(over.current, width, height);
    if (!ctx || area.width <= 0) return;
    if (pin !== undefined) line(ctx, area, pin, token("--text"), 1.5);
    if (cursor !== undefined && !brush) line(ctx, area, cursor, token("--soft"), 1);
    if (brush) shade(ctx, area, brush);
  }, [width, height, above, window[0], window[1], dark, pin, cursor, brush?.[0], brush?.[1]]);

  const momentOf = (event: PointerEvent | WheelEvent) => {
    const rect = box.current!.getBoundingClientRect();
    const share = (event.clientX - rect.left - area.left) / Math.max(1, area.width);
    return window[0] + clamp(share, 0, 1) * (window[1] - window[0]);
  };
  const hover = (ns: number | undefined) => {
    setCursor(ns);
    onHover?.(ns);
  };

  // A wheel alone scrolls the page; with Ctrl it zooms, sideways it pans. Preact's own listener could not stop the page.
  useEffect(() => {
    const element = box.current!;
    const onWheel = (event: WheelEvent) => {
      const sideways = event.shiftKey ? event.deltaY || event.deltaX : event.deltaX;
      if (event.ctrlKey || event.metaKey) onZoom(zoomed(window, whole, 1.0016 ** event.deltaY, momentOf(event)), "replace");
      else if (Math.abs(sideways) > Math.abs(event.shiftKey ? 0 : event.deltaY))
        onZoom(panned(window, whole, sideways / Math.max(1, area.width)), "replace");
      else return;
      event.preventDefault();
    };
    element.addEventListener("wheel", onWheel, { passive: false });
    return () => element.removeEventListener("wheel", onWheel);
  });

  const down = (event: PointerEvent) => {
    if (event.button !== 0) return;
    const from = momentOf(event);
    const start = event.clientX;
    const element = event.currentTarget as HTMLElement;
    element.setPointerCapture(event.pointerId);
    const move = (e: PointerEvent) => {
      if (Math.abs(e.clientX - start) > 4) setBrush(inOrder(from, momentOf(e)));
    };
    const up = (e: PointerEvent) => {
      stopListening();
      setBrush(null);
      if (Math.abs(e.clientX - start) > 4) onZoom(zoomed(inOrder(from, momentOf(e)), whole, 1), "push");
      else onPin?.(Math.round(momentOf(e)));
    };
    const stopListening = () => {
      element.removeEventListener("pointermove", move);
      element.removeEventListener("pointerup", up);
      element.removeEventListener("pointercancel", cancel);
    };
    const cancel = () => {
      stopListening();
      setBrush(null);
    };
    element.addEventListener("pointermove", move);
    element.addEventListener("pointerup", up);
    element.addEventListener("pointercancel", cancel);
  };

  const onKey = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const about = pin !== undefined && pin >= window[0] && pin <= window[1] ? pin : (window[0] + window[1]) / 2;
    const pinTo = (ns: number | undefined) => {
      if (ns === undefined) return;
      onPin?.(ns);
      if (ns < window[0] || ns > window[1]) onZoom(panned(window, whole, (ns - about) / (window[1] - window[0])), "replace");
    };
    const acts: Record<string, () => void> = {
      ArrowLeft: () => onZoom(panned(window, whole, event.shiftKey ? -0.5 : -0.1), "replace"),
      ArrowRight: () => onZoom(panned(window, whole, event.shiftKey ? 0.5 : 0.1), "replace"),
      "+": () => onZoom(zoomed(window, whole, 0.5, about), "replace"),
      "=": () => onZoom(zoomed(window, whole, 0.5, about), "replace"),
      "-": () => onZoom(zoomed(window, whole, 2, about), "replace"),
      "0": () => onZoom(null, "push"),
      ",": () => pinTo(props.stop?.(pin ?? about, false)),
      ".": () => pinTo(props.stop?.(pin ?? about, true)),
      p: () => pinTo(props.peak),
    };
    if (pin !== undefined) acts.Escape = () => onPin?.(undefined);
    const act = acts[event.key];
    if (!act) return;
    hover(undefined);
    act();
    event.preventDefault();
  };

  return (
    <div
      class="timeplot"
      ref={box}
      role="group"
      tabIndex={0}
      aria-label={props.label}
      aria-keyshortcuts="ArrowLeft ArrowRight + - 0 , . p"
      style={{ height: `${height}px` }}
      onKeyDown={onKey}
      onPointerDown={down}
      onPointerMove={(e) => hover(momentOf(e))}
      onPointerLeave={() => hover(undefined)}
      onDblClick={() => {
        onPin?.(undefined);
        onZoom(null, "push");
      }}
    >
      <canvas ref={base} aria-hidden="true" />
      <canvas ref={over} aria-hidden="true" />
      {props.children}
    </div>
  );
}

function inOrder(a: number, b: number): Span {
  return a < b ? [a, b] : [b, a];
}

function frame(width: number, height: number, above: number, window: Span, scale: number): Area {
  const w = width - LEFT - RIGHT;
  const h = height - above - BOTTOM;
  const perNs = w / (window[1] - window[0]);
  return {
    left: LEFT,
    top: above,
    width: w,
    height: h,
    from: window[0],
    to: window[1],
    x: (ns) => LEFT + (ns - window[0]) * perNs,
    y: (n) => above + h - (n / scale) * h,
  };
}

/** A canvas of the right size for the screen, empty. */
function fit(canvas: HTMLCanvasElement | null, width: number, height: number): CanvasRenderingContext2D | null {
  const ctx = canvas?.getContext("2d");
  if (!canvas || !ctx) return null;
  const ratio = devicePixelRatio || 1;
  const [w, h] = [Math.round(width * ratio), Math.round(height * ratio)];
  if (canvas.width !== w || canvas.height !== h) {
    canvas.width = w;
    canvas.height = h;
    canvas.style.width = `${width}px`;
    canvas.style.height = `${height}px`;
  }
  ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
  ctx.clearRect(0, 0, width, height);
  return ctx;
}

function drawAxes(ctx: CanvasRenderingContext2D, area: Area, scale: number): void {
  const { left, top, width, height } = area;
  ctx.font = FONT;
  ctx.lineWidth = 1;
  ctx.textBaseline = "middle";
  ctx.textAlign = "right";
  for (const { at, text } of byteTicks(scale, Math.max(2, Math.floor(height / 44)))) {
    const y = Math.round(area.y(at)) + 0.5;
    ctx.strokeStyle = token(at === 0 ? "--axis" : "--grid");
    ctx.beginPath();
    ctx.moveTo(left, y);
    ctx.lineTo(left + width, y);
    ctx.stroke();
    ctx.fillStyle = token("--soft");
    ctx.fillText(text, left - 8, y);
  }
  ctx.textBaseline = "top";
  ctx.textAlign = "center";
  for (const { at, text } of timeTicks(area.from, area.to, Math.max(2, Math.floor(width / 110)))) {
    const x = Math.round(area.x(at)) + 0.5;
    ctx.strokeStyle = token("--axis");
    ctx.beginPath();
    ctx.moveTo(x, top + height);
    ctx.lineTo(x, top + height + 4);
    ctx.stroke();
    ctx.fillStyle = token("--soft");
    const half = ctx.measureText(text).width / 2;
    ctx.fillText(text, clamp(x, left + half - 20, left + width + RIGHT - half - 2), top + height + 8);
  }
}

function line(ctx: CanvasRenderingContext2D, area: Area, ns: number, color: string, width: number): void {
  const x = Math.round(area.x(ns)) + 0.5;
  if (x < area.left - 1 || x > area.left + area.width + 1) return;
  ctx.strokeStyle = color;
  ctx.lineWidth = width;
  ctx.beginPath();
  ctx.moveTo(x, area.top);
  ctx.lineTo(x, area.top + area.height);
  ctx.stroke();
}

function shade(ctx: CanvasRenderingContext2D, area: Area, [from, to]: Span): void {
  const x = area.x(from);
  const w = area.x(to) - x;
  ctx.fillStyle = token("--accent");
  ctx.globalAlpha = 0.18;
  ctx.fillRect(x, area.top, w, area.height);
  ctx.globalAlpha = 1;
  ctx.strokeStyle = token("--accent");
  ctx.strokeRect(Math.round(x) + 0.5, area.top + 0.5, Math.round(w), area.height - 1);
}

/** Text on the card's colour, so that what lies under it does not disturb it. */
export function pill(ctx: CanvasRenderingContext2D, area: Area, text: string, x: number, y: number, color: string): void {
  ctx.font = `600 ${FONT}`;
  const width = ctx.measureText(text).width;
  const left = clamp(x - width / 2, area.left, Math.max(area.left, area.left + area.width - width));
  ctx.fillStyle = token("--card");
  ctx.fillRect(left - 4, y - 8, width + 8, 16);
  ctx.fillStyle = color;
  ctx.textAlign = "left";
  ctx.textBaseline = "middle";
  ctx.fillText(text, left, y);
}
