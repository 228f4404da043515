// A plane with its heading, controls, head, rows and tooltip.
// In: a plane, what is selected and found. Out: `PlanePanel`. Left to neighbours: drawing and input (chart.ts, input.ts).
// Frames do not pass through here: this is rendered when a plane, its folding or its selection changes.

import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { store } from "../../data/store";
import { navigate, useRoute } from "../../state/route";
import { useTheme } from "../../state/theme";
import { count } from "../../ui/format";
import { SqlButton } from "../../ui/sql";
import { printable } from "../../ui/text";
import { changeOf, rangeOf } from "./address";
import { Chart } from "./chart";
import { Gutter } from "./gutter";
import { headHeight, OVERVIEW, RULER } from "./head";
import { listen } from "./input";
import { Legend } from "./legend";
import { describe, markOf, type Said, selectionOf } from "./marks";
import { groupOf, type Plane } from "./model";
import { fit, home, type Range } from "./range";
import type { Hits } from "./search";
import { summary } from "./summary";
import { Tooltip } from "./tooltip";

interface Props {
  plane: Plane;
  /** Queries behind it. */
  queries: string[];
  hits: Hits | null;
  byName: boolean;
  /** Greatest height of its rows. */
  most: string;
  onChart: (plane: Plane, chart: Chart | null) => void;
  onActive: (plane: Plane) => void;
  onView: () => void;
}

/** Milliseconds after the last movement until the address follows. */
const SETTLE = 180;

/** "shorter than 10.97 µs", as the block's note says it. */
function boundOf(queries: string[]): string | null {
  for (const query of queries) {
    const found = /shorter than ([\d.,]+ \S+) are drawn/.exec(store.info(query)?.note ?? "");
    if (found) return found[1]!;
  }
  return null;
}

export function PlanePanel(props: Props) {
  const { plane, queries, hits, byName, most } = props;
  const [route] = useRoute();
  const { dark } = useTheme();
  const [folded, setFolded] = useState<ReadonlySet<number>>(new Set());
  const [seen, setSeen] = useState({ scroll: 0, height: 400 });
  const [brushing, setBrushing] = useState(false);
  const [said, setSaid] = useState("");
  const lanes = useRef<HTMLCanvasElement>(null);
  const head = useRef<HTMLCanvasElement>(null);
  const scroller = useRef<HTMLDivElement>(null);
  const base = useRef<HTMLSpanElement>(null);
  const tip = useRef<HTMLDivElement>(null);
  const latest = useRef(props);
  latest.current = props;
  /** Selection that this plane made: it need not be brought into view. */
  const own = useRef<string | undefined>(undefined);
  /** What the address says of this plane, as far as it was followed. */
  const followed = useRef<Range | null>(rangeOf(route, plane));
  /** The address has just said what is in view: a selection in it does not move that. */
  const placed = useRef(false);
  const bound = useMemo(() => boundOf(queries), [plane]);
  const about = useMemo(() => summary(plane), [plane]);

  const chart = useMemo(() => {
    let timer = 0;
    let tooltip: Tooltip | null = null;
    let last: { mark: number; said: Said } | null = null;
    const made = new Chart(plane, {
      onView: (view) => {
        latest.current.onView();
        clearTimeout(timer);
        timer = window.setTimeout(() => {
          // Another view has the address now.
          if (!scroller.current) return;
          const change = changeOf(plane, view);
          followed.current = rangeOf({ view: "", ...change }, plane);
          navigate(change, "replace");
        }, SETTLE);
      },
      onSelect: (mark) => {
        own.current = mark < 0 ? undefined : selectionOf(plane, mark);
        latest.current.onActive(plane);
        navigate({ sel: own.current }, "replace");
      },
      onHover: (mark, x, y) => {
        if (!tip.current || !scroller.current) return;
        tooltip ??= new Tooltip(tip.current);
        if (mark < 0) {
          last = null;
          tooltip.hide();
          return;
        }
        if (last?.mark !== mark) last = { mark, said: describe(plane, mark, bound) };
        const below = innerHeight - scroller.current.getBoundingClientRect().top;
        tooltip.show(last.said, x, y, { width: made.width, height: below - 8 });
      },
    });
    return made;
  }, [plane]);

  useEffect(() => {
    const parts = { lanes: lanes.current!, head: head.current!, scroller: scroller.current!, base: base.current! };
    const given = rangeOf(route, plane);
    const mark = markOf(plane, route.sel);
    if (given) chart.setView(given, false);
    else if (mark >= 0) chart.setView(fit(plane.start[mark]!, plane.end[mark]!, 2, plane), false);
    followed.current = given;
    placed.current = given !== null;
    const detach = chart.attach(parts);
    const deaf = listen(chart, parts.lanes, parts.head);
    props.onChart(plane, chart);
    return () => {
      deaf();
      detach();
      props.onChart(plane, null);
    };
  }, [chart]);

  useEffect(() => chart.style(dark, byName && plane.host), [chart, dark, byName]);
  // Before the next frame: an effect would come one later.
  useLayoutEffect(() => chart.find(hits), [chart, hits]);

  // Back, forward and links move the view; what this plane wrote itself does not come back.
  const asked = rangeOf(route, plane);
  useEffect(() => {
    const was = followed.current;
    if (asked?.from === was?.from && asked?.to === was?.to) return;
    followed.current = asked;
    placed.current = asked !== null;
    chart.setView(asked ?? home(plane), false);
    props.onView();
  }, [chart, asked?.from, asked?.to]);

  const selected = useMemo(() => markOf(plane, route.sel), [plane, route.sel]);
  useEffect(() => {
    const mine = own.current !== undefined && own.current === route.sel;
    own.current = undefined;
    if (selected >= 0 && chart.isFolded(selected)) {
      const open = new Set(folded);
      open.delete(groupOf(plane, plane.rowOf[selected]!));
      chart.fold(open);
      setFolded(open);
    }
    chart.mark(selected, !mine, !placed.current);
    if (selected >= 0) {
      const { name, what, lines } = describe(plane, selected, bound);
      setSaid(`${name}, ${what}, ${lines.map(([label, text]) => `${label} ${text}`).join(", ")}`);
    } else setSaid("");
  }, [chart, selected]);
  useEffect(() => {
    placed.current = false;
  });

  const onScroll = () => {
    const el = scroller.current!;
    setSeen({ scroll: el.scrollTop, height: el.clientHeight });
  };
  const toggle = (group: number) => {
    const next = new Set(folded);
    if (!next.delete(group)) next.add(group);
    chart.fold(next);
    setFolded(next);
  };
  chart.brushing = brushing;
  const layout = chart.layout;
  const describedBy = `tl-about-${plane.id}`;
  const region = plane.regions.length > 0;
  return (
    <section class="panel tl-plane" aria-labelledby={`tl-title-${plane.id}`} onPointerEnter={() => props.onActive(plane)}>
      <header>
        <h2 id={`tl-title-${plane.id}`}>{plane.title}</h2>
        {plane.host ? (
          <span class="badge">session clock</span>
        ) : (
          <span class="badge warn" title={`${plane.clock}: zero is ${count(plane.origin)} ns, its first mark`}>
            {plane.clock} · own clock, not aligned with the host
          </span>
        )}
        <Cut queries={queries} />
        <span class="gap" />
        <div class="segmented" role="group" aria-label={`Zoom of ${plane.title}`}>
          <button type="button" onClick={() => chart.zoom(1 / 1.8)} aria-label="Zoom in" title="Zoom in (W, +)">
            +
          </button>
          <button type="button" onClick={() => chart.zoom(1.8)} aria-label="Zoom out" title="Zoom out (S, −)">
            −
          </button>
          <button
            type="button"
            aria-pressed={brushing}
            onClick={() => setBrushing(!brushing)}
            title="Drag chooses a range to zoom to (or Shift and drag, or drag on the ruler)"
          >
            Range
          </button>
          {region && (
            <button type="button" onClick={() => chart.fitRegion()} title="Show the measured region (0)">
              Region
            </button>
          )}
          <button type="button" onClick={() => chart.fitAll()} title="Show everything (9)">
            All
          </button>
          <button type="button" disabled={selected < 0} onClick={() => chart.fitMark(selected)} title="Show the selection (F)">
            Selection
          </button>
        </div>
        {queries.map((query) => (
          <SqlButton key={query} query={query} label={queries.length > 1 ? `SQL ${query}` : "SQL"} />
        ))}
      </header>
      <div class="tl-about">
        <p id={describedBy}>{about}</p>
        <Legend plane={plane} byName={byName && plane.host} />
      </div>
      <div class={brushing ? "tl-body brushing" : "tl-body"}>
        <div class="tl-head" style={{ height: `${headHeight(plane)}px` }}>
          <div class="tl-corner">
            <span style={{ height: `${OVERVIEW}px` }}>overview</span>
            <span style={{ height: `${RULER}px` }} ref={base} />
          </div>
          <canvas ref={head} aria-hidden="true" />
        </div>
        <div class="tl-lanes" ref={scroller} style={{ maxHeight: most }} onScroll={onScroll}>
          <div class="tl-space" style={{ height: `${drawable(layout.height)}px` }}>
            <canvas
              ref={lanes}
              tabIndex={0}
              role="application"
              aria-label={`${plane.title}, timeline. Arrow keys move, W and S zoom, Tab goes through the marks once one is selected; Escape, then Tab, leaves.`}
              aria-describedby={describedBy}
              data-plane={plane.id}
              data-marks={plane.count}
              onFocus={() => props.onActive(plane)}
            />
            <Gutter plane={plane} layout={layout} scroll={seen.scroll} height={seen.height} onFold={toggle} />
          </div>
        </div>
        <div class="tl-tip" ref={tip} hidden aria-hidden="true" style={{ top: `${headHeight(plane)}px` }} />
      </div>
      <p class="visually-hidden" role="status">
        {said}
      </p>
    </section>
  );
}

/** Browsers draw no element higher than some 17 million pixels. */
function drawable(height: number): number {
  return Math.min(height, 12_000_000);
}

function Cut({ queries }: { queries: string[] }) {
  const cut = queries.map((query) => store.info(query)).filter((info) => info && info.total !== null && info.total > info.rows);
  if (cut.length === 0) return null;
  return (
    <span class="cut" title={cut.map((info) => info!.note && printable(info!.note)).filter(Boolean).join(" ")}>
      {cut.map((info) => `${info!.name}: ${count(info!.rows)} marks for ${count(info!.total!)} rows`).join(" · ")}
    </span>
  );
}
