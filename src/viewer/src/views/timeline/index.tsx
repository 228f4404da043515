// The Timeline view: a flame chart by thread, and a plane for every other clock.
// In: blocks spans, timeline_ops, timeline_device, timeline_gpu, timeline_ranges; the route. Out: `View`. Left to
// neighbours: planes (host.ts, clocks.ts), one of them on the screen (plane.tsx).
// What was not recorded is named at the end with its reason.

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { viewKeys } from "../../app";
import { store, type TableState, useTable } from "../../data/store";
import { navigate, useRoute } from "../../state/route";
import { Empty } from "../../ui/panel";
import { printable } from "../../ui/text";
import type { Chart } from "./chart";
import { devicePlanes, gpuPlane, rangePlane } from "./clocks";
import { Finder } from "./finder";
import { hostPlane } from "./host";
import { KEYS, key } from "./input";
import { VisibleList } from "./list";
import { markOf } from "./marks";
import type { Plane } from "./model";
import { PlanePanel } from "./plane";
import { home, type Range } from "./range";
import { type Hits, search } from "./search";
import "./timeline.css";

const QUERIES: Record<string, string[]> = {
  host: ["spans", "timeline_ops"],
  gpu: ["timeline_gpu"],
  ranges: ["timeline_ranges"],
};

export function View() {
  viewKeys.timeline = KEYS;
  const [route] = useRoute();
  const spans = useTable("spans");
  const ops = useTable("timeline_ops");
  const device = useTable("timeline_device");
  const gpu = useTable("timeline_gpu");
  const ranges = useTable("timeline_ranges");

  const opsReady = ops.state !== "loading";
  const host = useMemo(() => (spans.table && opsReady ? hostPlane(spans.table, ops.table ?? null) : null), [spans.table, ops.table, opsReady]);
  const spansReady = spans.state !== "loading";
  const devices = useMemo(
    () => (device.table && device.table.rows > 0 && spansReady ? devicePlanes(device.table, spans.table ?? null) : []),
    [device.table, spans.table, spansReady],
  );
  const ofGpu = useMemo(() => (gpu.table && gpu.table.rows > 0 ? gpuPlane(gpu.table) : null), [gpu.table]);
  const ofRanges = useMemo(() => (ranges.table && ranges.table.rows > 0 ? rangePlane(ranges.table) : null), [ranges.table]);
  const planes = useMemo(
    () => [host, ...devices, ofGpu, ofRanges].filter((p): p is Plane => p !== null && p.count > 0),
    [host, devices, ofGpu, ofRanges],
  );

  const [query, setQuery] = useState(route.q ?? "");
  useEffect(() => setQuery(route.q ?? ""), [route.q]);
  useEffect(() => {
    const timer = setTimeout(() => navigate({ q: query.trim() === "" ? undefined : query }, "replace"), 250);
    return () => clearTimeout(timer);
  }, [query]);
  const found = useMemo(() => planes.map((plane) => search(plane, query)), [planes, query]);

  const charts = useRef(new Map<string, Chart>());
  const [activeId, setActive] = useState("host");
  const active = planes.find((p) => p.id === activeId) ?? planes[0];
  const [listedId, setListed] = useState<string | null>(null);
  const selectedIn = planes.find((p) => markOf(p, route.sel) >= 0);
  const listed = planes.find((p) => p.id === listedId) ?? planes[0];
  useEffect(() => selectedIn && setListed(selectedIn.id), [selectedIn]);
  // The list follows what is seen and found when that has come to rest: frames do not wait for it.
  const [settled, setSettled] = useState<{ views: Record<string, Range>; found: Map<Plane, Hits | null> }>({ views: {}, found: new Map() });
  const timer = useRef(0);
  const latest = useRef(settled.found);
  latest.current = new Map(planes.map((plane, i) => [plane, found[i] ?? null]));
  const follow = () => {
    clearTimeout(timer.current);
    timer.current = window.setTimeout(() => {
      const views = Object.fromEntries([...charts.current].map(([id, chart]) => [id, chart.view]));
      setSettled({ views, found: latest.current });
    }, 160);
  };
  useEffect(follow, [found]);
  useEffect(() => () => clearTimeout(timer.current), []);

  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      const target = event.target as HTMLElement;
      if (event.defaultPrevented || /^(input|textarea|select)$/i.test(target.tagName) || document.querySelector("dialog[open]")) return;
      // A table moves with Home and End itself.
      if (target.closest("table, aside") && /^(Home|End|Arrow)/.test(event.key)) return;
      const chart = active && charts.current.get(active.id);
      if (chart && key(chart, event, false)) event.preventDefault();
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, [active]);

  const byName = route.color === "name";
  const waiting = spans.state === "loading" || (spans.table && !opsReady);
  return (
    <div class="tl">
      {!store.meta.sound && store.meta.unsound_reason && (
        <p class="tl-unsound" role="note">
          This capture is not sound: {printable(store.meta.unsound_reason)}. What was recorded until then is drawn.
        </p>
      )}
      <div class="tl-bar">
        <Finder planes={planes} found={found} charts={charts.current} query={query} onQuery={setQuery} />
        <span class="gap" />
        <div class="segmented" role="group" aria-label="Colour of the host's marks">
          {(["step", "name"] as const).map((by) => (
            <button
              key={by}
              type="button"
              aria-pressed={byName === (by === "name")}
              onClick={() => navigate({ color: by === "name" ? "name" : undefined }, "replace")}
            >
              Colour by {by}
            </button>
          ))}
        </div>
      </div>
      {waiting ? (
        <section class="panel tl-waiting" role="status">
          Decoding…
        </section>
      ) : (
        !host && <NoHost spans={spans} />
      )}
      {host && host.count === 0 && (
        <section class="panel">
          <Empty title="No spans" reason="The capture has no span and no operation." />
        </section>
      )}
      {planes.map((plane, i) => (
        <PlanePanel
          key={plane.id}
          plane={plane}
          queries={QUERIES[plane.id] ?? ["timeline_device"]}
          hits={found[i] ?? null}
          byName={byName}
          most={planes.length === 1 ? "max(220px, calc(100vh - 400px))" : plane.host ? "max(220px, 46vh)" : "max(180px, 36vh)"}
          onChart={(of, chart) => {
            if (chart) charts.current.set(of.id, chart);
            else charts.current.delete(of.id);
            follow();
          }}
          onActive={(of) => setActive(of.id)}
          onView={follow}
        />
      ))}
      {listed && (
        <VisibleList
          plane={listed}
          view={settled.views[listed.id] ?? home(listed)}
          selected={markOf(listed, route.sel)}
          planes={planes}
          onPlane={(plane) => setListed(plane.id)}
          chart={charts.current.get(listed.id) ?? null}
          hits={settled.found.get(listed) ?? null}
        />
      )}
      <Absent states={[["operations", ops], ["device intervals", device], ["GPU operations of Nsight", gpu], ["NVTX ranges of Nsight", ranges]]} />
    </div>
  );
}

function NoHost({ spans }: { spans: TableState }) {
  return (
    <section class="panel">
      <Empty title={spans.state === "failed" ? "The spans could not be read" : "No host timeline"} reason={spans.reason} />
    </section>
  );
}

/** Planes that this page does not have, and why. */
function Absent({ states }: { states: [name: string, state: TableState][] }) {
  const absent = states.filter(([, s]) => s.state === "unavailable" || s.state === "failed" || (s.table && s.table.rows === 0));
  if (absent.length === 0) return null;
  return (
    <section class="tl-absent" aria-label="Not in this timeline">
      <h3>Not in this timeline</h3>
      <dl>
        {absent.map(([name, state]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{printable(state.reason ?? "the query has no rows")}</dd>
          </div>
        ))}
      </dl>
    </section>
  );
}
