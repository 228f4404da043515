// A picture that can be moved and zoomed: wheel, drag, pinch, keys, buttons; what is in the middle of it is in the address.
// In: its extent, a function that draws it for a level of detail. Out: `Stage`. Left to neighbours: what is drawn.
// The picture is for eyes: whoever listens hears the node that the keys reach, in a status of its own.

import type { RefObject, VNode } from "preact";
import { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { navigate, useRoute } from "../../state/route";

export interface Box {
  x: number;
  y: number;
  w: number;
  h: number;
}

/** How much of a node can be read: everything, its name in letters of a legible size, or its colour alone. */
export interface Level {
  mode: "full" | "name" | "block";
  /** Scale that the letters of a name are made for. */
  scale: number;
}

/** From this scale on the small letters of a node are 10 pixels high. */
const FULL_FROM = 0.84;
const NAME_FROM = 0.28;

export const FULL: Level = { mode: "full", scale: 1 };

function levelOf(k: number): Level {
  if (k >= FULL_FROM) return FULL;
  if (k < NAME_FROM) return { mode: "block", scale: NAME_FROM };
  // In steps: a picture is drawn again some times between both ends, not at every turn of the wheel.
  return { mode: "name", scale: FULL_FROM * 1.12 ** Math.floor(Math.log(k / FULL_FROM) / Math.log(1.12)) };
}

export interface StageApi {
  fit: () => void;
  zoom: (factor: number) => void;
  show: (box: Box) => void;
}

interface Props {
  width: number;
  height: number;
  label: string;
  /** What the picture is of: another one is fitted anew. */
  of: string;
  draw: (level: Level) => VNode;
  /** What a click on a node, or on a part of it, does. */
  onPick: (key: string, act: string | null) => void;
  /** Returns whether the key was one of the view's. */
  onKey: (event: KeyboardEvent) => boolean;
  api: RefObject<StageApi | null>;
  say: string;
  /** Where to look at first, where the whole does not fit. */
  start?: Box | null;
  /** The scale below which too little of the names could be read: a picture is not fitted beyond it. */
  least: number;
  /** Whether a picture that is narrower than the stage is put into its middle. */
  middle?: boolean;
}

interface View {
  x: number;
  y: number;
  k: number;
}

const MARGIN = 22;
const LEAST = 0.06;
const MOST = 3;
const FIT_MOST = 1.1;

export function Stage(props: Props) {
  const { width, height, label, of, draw, onPick, onKey, api, say, start, least, middle = false } = props;
  const [route] = useRoute();
  const box = useRef<HTMLDivElement>(null);
  const [size, setSize] = useState({ w: 0, h: 0 });
  const [view, setView] = useState<View | null>(null);
  const now = useRef<View | null>(null);
  const fitted = useRef("");
  now.current = view;

  useLayoutEffect(() => {
    const el = box.current!;
    const measure = () => setSize({ w: el.clientWidth, h: el.clientHeight });
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(el);
    return () => observer.disconnect();
  }, []);

  const move = useCallback(
    (to: View, tell = true) => {
      const keep = 70;
      const k = Math.min(MOST, Math.max(LEAST, to.k));
      const x = Math.min(size.w - keep, Math.max(keep - width * k, to.x));
      const y = Math.min(size.h - keep, Math.max(keep - height * k, to.y));
      setView({ x, y, k });
      if (tell) remember({ x, y, k }, size);
    },
    [size.w, size.h, width, height],
  );

  /** Where a picture is put: as much of it as can be read, or all. */
  const target = (all: boolean): View => {
    const whole = Math.min((size.w - 2 * MARGIN) / width, (size.h - 2 * MARGIN) / height);
    // What does not fit anyway is shown so large that everything in it can be read, as long as its width fits.
    const large = Math.min(FULL_FROM, (size.w - 2 * MARGIN) / width);
    const k = all ? Math.max(LEAST, Math.min(FIT_MOST, whole)) : whole >= least ? Math.min(FIT_MOST, whole) : Math.max(least, large);
    const along = (extent: number, room: number, from: number, long: number, free: number) =>
      extent * k <= room - 2 * MARGIN + 1
        ? free
        : Math.max(room - MARGIN - extent * k, Math.min(MARGIN, room / 2 - (from + long / 2) * k));
    const at = start ?? { x: middle ? width / 2 : 0, y: 0, w: 0, h: 0 };
    const x = along(width, size.w, at.x, at.w, middle ? (size.w - width * k) / 2 : MARGIN);
    return { x, y: along(height, size.h, at.y, at.h, MARGIN), k };
  };
  const fit = () => {
    const [some, v] = [target(false), now.current];
    const there = v && Math.abs(v.x - some.x) + Math.abs(v.y - some.y) + 1e3 * Math.abs(v.k - some.k) < 1;
    move(there ? target(true) : some);
  };

  useLayoutEffect(() => {
    if (size.w === 0 || width === 0 || fitted.current === of) return;
    const first = fitted.current === "";
    fitted.current = of;
    const kept = first ? recall(route.at, size) : null;
    if (kept) move(kept, false);
    else move(target(false), !first);
  }, [of, size.w, size.h, width]);

  const zoom = (factor: number, cx = size.w / 2, cy = size.h / 2) => {
    const v = now.current;
    if (!v) return;
    const k = Math.min(MOST, Math.max(LEAST, v.k * factor));
    move({ x: cx - ((cx - v.x) * k) / v.k, y: cy - ((cy - v.y) * k) / v.k, k });
  };
  const show = (b: Box) => {
    const v = now.current;
    if (!v) return;
    const shift = (from: number, long: number, room: number) => {
      const a = from - MARGIN;
      const z = from + long + MARGIN;
      return a < 0 ? -a : z > room ? Math.max(room - z, -a) : 0;
    };
    const dx = shift(v.x + b.x * v.k, b.w * v.k, size.w);
    const dy = shift(v.y + b.y * v.k, b.h * v.k, size.h);
    if (dx || dy) move({ x: v.x + dx, y: v.y + dy, k: v.k });
  };
  api.current = { fit, zoom, show };

  // Not passive: the page must not scroll while the picture zooms.
  const wheel = useRef<(event: WheelEvent) => void>(() => {});
  wheel.current = (event) => {
    event.preventDefault();
    const { left, top } = box.current!.getBoundingClientRect();
    const by = event.deltaMode === 1 ? 30 : 1;
    // Two fingers on a pad move the picture, a wheel zooms it: a pad tells of small steps, and of both directions.
    const pad = event.deltaMode === 0 && !event.ctrlKey && (event.deltaX !== 0 || Math.abs(event.deltaY) < 40);
    if (pad || event.shiftKey) {
      const v = now.current;
      const turned = event.shiftKey && event.deltaX === 0;
      if (v) move({ ...v, x: v.x - (turned ? event.deltaY : event.deltaX) * by, y: v.y - (turned ? 0 : event.deltaY) * by });
      return;
    }
    zoom(Math.exp(-event.deltaY * by * (event.ctrlKey ? 0.01 : 0.0016)), event.clientX - left, event.clientY - top);
  };
  useEffect(() => {
    const el = box.current!;
    const on = (event: WheelEvent) => wheel.current(event);
    el.addEventListener("wheel", on, { passive: false });
    return () => el.removeEventListener("wheel", on);
  }, []);

  const drag = useRef<{ id: number; x: number; y: number; view: View; moved: boolean } | null>(null);
  const dragged = useRef(false);
  const down = (event: PointerEvent) => {
    dragged.current = false;
    if (event.button !== 0 || !now.current) return;
    drag.current = { id: event.pointerId, x: event.clientX, y: event.clientY, view: now.current, moved: false };
  };
  const moving = (event: PointerEvent) => {
    const d = drag.current;
    if (!d || d.id !== event.pointerId) return;
    const dx = event.clientX - d.x;
    const dy = event.clientY - d.y;
    if (!d.moved && Math.hypot(dx, dy) < 4) return;
    if (!d.moved) box.current!.setPointerCapture(event.pointerId);
    d.moved = true;
    dragged.current = true;
    move({ x: d.view.x + dx, y: d.view.y + dy, k: d.view.k });
  };
  const up = () => {
    drag.current = null;
  };
  const click = (event: MouseEvent) => {
    if (dragged.current) return;
    const at = event.target as Element;
    const key = at.closest("[data-key]")?.getAttribute("data-key");
    if (key) onPick(key, at.closest("[data-act]")?.getAttribute("data-act") ?? null);
  };
  const key = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    let done = true;
    if (event.key === "+" || event.key === "=") zoom(1.25);
    else if (event.key === "-") zoom(0.8);
    else if (event.key === "0") fit();
    else done = onKey(event);
    if (done) event.preventDefault();
  };

  const level = levelOf(view?.k ?? 1);
  const inside = useMemo(() => draw(level), [draw, level.mode, level.scale]);
  return (
    <div
      class="stage"
      ref={box}
      tabIndex={0}
      role="group"
      aria-label={label}
      aria-roledescription="picture of a graph"
      onPointerDown={down}
      onPointerMove={moving}
      onPointerUp={up}
      onPointerCancel={up}
      onClick={click}
      onKeyDown={key}
    >
      <svg width="100%" height="100%" aria-hidden="true">
        {view && <g transform={`translate(${view.x} ${view.y}) scale(${view.k})`}>{inside}</g>}
      </svg>
      <span class="visually-hidden" role="status">
        {say}
      </span>
    </div>
  );
}

/** The middle of the picture and its scale go into the address: once it is at rest. */
let resting: ReturnType<typeof setTimeout> | undefined;
function remember(view: View, size: { w: number; h: number }): void {
  clearTimeout(resting);
  const was = new URLSearchParams(location.hash.slice(1)).get("view");
  resting = setTimeout(() => {
    if (new URLSearchParams(location.hash.slice(1)).get("view") !== was) return;
    const cx = (size.w / 2 - view.x) / view.k;
    const cy = (size.h / 2 - view.y) / view.k;
    navigate({ at: `${cx.toFixed(0)},${cy.toFixed(0)},${view.k.toFixed(3)}` }, "replace");
  }, 250);
}

function recall(text: string | number | undefined, size: { w: number; h: number }): View | null {
  const [cx, cy, k] = String(text ?? "").split(",").map(Number);
  if (cx === undefined || cy === undefined || !k || !(k > 0) || ![cx, cy, k].every(Number.isFinite)) return null;
  return { x: size.w / 2 - cx * k, y: size.h / 2 - cy * k, k };
}
