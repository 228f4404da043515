// The data flow: which operation took what another one made, of the measured region, a span, or around one operation.
// In: blocks flow, timeline_ops and spans, the route. Out: `DataFlow`. Left to neighbours: the graph (flow.ts), what of it
// is drawn (flow_view.ts), where (flow_layout.ts).
// The scope, the spans that were opened or closed and the page are in the address.

import { useCallback, useEffect, useMemo, useRef, useState } from "preact/hooks";
import { store, useTable } from "../../data/store";
import { useRoute } from "../../state/route";
import { parse, select } from "../../state/selection";
import { useTheme } from "../../state/theme";
import { count, showing } from "../../ui/format";
import { SqlButton } from "../../ui/sql";
import { useCategories } from "./categories";
import { download, fileName, svgText } from "./export";
import { type Flow, flowOf } from "./flow";
import { layoutFlow } from "./flow_layout";
import { drawFlow, type Picture, smallWidth, titleOf } from "./flow_nodes";
import { openAtFirst } from "./flow_scope";
import { flowStep } from "./flow_keys";
import { MOST, viewOf } from "./flow_view";
import { Legend } from "./legend";
import { Missing, Unsound } from "./missing";
import { Narrow, scopeOf } from "./narrow";
import { FULL, type Level, Stage, type StageApi } from "./stage";
import { spansOf } from "./spans";
import { Toolbar } from "./toolbar";

export function DataFlow() {
  const flow = useTable("flow");
  const ops = useTable("timeline_ops");
  const spans = useTable("spans");
  if (!flow.table) return <Missing mode="flow" of={flow} what="data flow" />;
  if (!spans.table) return <Missing mode="flow" of={spans} what="spans" />;
  if (ops.state === "loading") return <Missing mode="flow" of={ops} what="operations" />;
  if (flow.table.rows === 0) {
    return <Missing mode="flow" of={{ state: "unavailable", reason: "no operation names the tensors it takes" }} what="data flow" />;
  }
  return <Drawn flow={flowOf(flow.table, ops.table ?? null, spansOf(spans.table))} />;
}

function Drawn({ flow }: { flow: Flow }) {
  const { spans } = flow;
  const [route, go] = useRoute();
  const { dark } = useTheme();
  const facts = useCategories();
  const api = useRef<StageApi | null>(null);
  const [current, setCurrent] = useState<string | null>(null);

  const scope = useMemo(() => scopeOf(flow, route), [flow, route.in, route.near, route.steps]);
  const turned = String(route.turn ?? "");
  const open = useMemo(() => {
    const set = openAtFirst(flow, scope);
    for (const id of turned.split(",").filter(Boolean)) {
      const row = spans.row(Number(id));
      if (row >= 0 && !set.delete(row)) set.add(row);
    }
    return set;
  }, [flow, scope, turned]);
  const page = Math.max(0, Math.floor(Number(route.page ?? 1)) - 1) || 0;
  const inputs = route.inputs !== "no";
  const view = useMemo(() => viewOf(flow, { scope, open, page, inputs, facts }), [flow, scope, open, page, inputs, facts]);
  const layout = useMemo(() => layoutFlow(view.nodes, view.lines, spans, smallWidth), [view]);
  const query = (route.q ?? "").toLowerCase();
  const words = query.split(/\s+/).filter(Boolean);
  const hit = useMemo(
    () =>
      view.nodes.map((node) => {
        const texts = [node.name, ...node.tensors.map((t) => flow.tensors[t]!), ...names(flow, node.members)];
        return words.length > 0 && texts.some((t) => words.every((word) => t.toLowerCase().includes(word)));
      }),
    [view, query],
  );
  const whole = useMemo(() => view.nodes.reduce((most, n) => Math.max(most, n.kind === "op" || n.kind === "group" ? (n.time ?? 0) : 0), 0), [view]);
  const picture: Picture = useMemo(
    () => ({ flow, view, layout, facts, whole, hit, closes: (span) => open.has(span) }),
    [flow, view, layout, facts, whole, hit, open],
  );

  const selected = keyOf(flow, route.sel);
  const at = view.nodes.findIndex((n) => n.key === current);
  const wanted = useRef<string | null>(null);
  useEffect(() => {
    if (selected === null) return;
    setCurrent(selected);
    wanted.current = selected;
  }, [selected]);
  useEffect(() => {
    const place = wanted.current === null ? -1 : view.nodes.findIndex((n) => n.key === wanted.current);
    if (place < 0) return;
    wanted.current = null;
    api.current?.show(layout.boxes[place]!);
  });
  // What was opened or closed keeps the eye: its first node, or the one that it became.
  const turning = useRef(-1);
  const turnedTo = turning.current < 0 ? undefined : view.nodes.find((n) => n.span >= 0 && spans.within(n.span, turning.current));
  useEffect(() => {
    turning.current = -1;
    if (turnedTo) reach(turnedTo.key);
  }, [view]);
  const reach = (key: string) => {
    setCurrent(key);
    wanted.current = key;
  };

  const turn = (row: number) => {
    turning.current = row;
    const id = String(spans.ids[row]);
    const list = turned.split(",").filter(Boolean);
    const next = list.includes(id) ? list.filter((x) => x !== id) : [...list, id];
    go({ turn: next.join(",") || undefined, page: undefined, at: undefined });
  };
  const pick = (key: string, act: string | null) => {
    if (key.startsWith("box:")) {
      const id = Number(key.slice(4));
      return act === "toggle" ? turn(spans.row(id)) : go({ sel: select.span(id) });
    }
    const node = view.nodes.find((n) => n.key === key);
    if (!node) return;
    if (act === "go") return reach(key);
    setCurrent(key);
    if (act === "toggle") return turn(node.span);
    const sel = selOf(flow, node.kind === "group" ? -1 : (node.members[0] ?? -1));
    if (node.kind === "group") go({ sel: select.span(spans.ids[node.span]!) });
    else if (node.kind === "input" || node.kind === "link") go({ sel: select.tensor(flow.tensors[node.tensors[0] ?? flow.output[node.members[0]!]!]!) });
    else if (sel) go({ sel });
  };
  const onKey = (event: KeyboardEvent): boolean => {
    const node = view.nodes[at];
    if (event.key === "Enter" || event.key === " ") {
      if (node) pick(node.key, event.key === " " && node.kind === "group" ? "toggle" : null);
      return true;
    }
    if (event.key === "Backspace" && node && node.span >= 0) {
      const row = node.kind === "group" ? spans.parent[node.span]! : node.span;
      if (row >= 0 && open.has(row)) turn(row);
      return true;
    }
    const next = flowStep(event.key, at, view, layout.boxes);
    if (next === null) return false;
    if (view.nodes[next]) reach(view.nodes[next]!.key);
    return true;
  };
  const next = (back: boolean) => {
    const found = view.nodes.flatMap((n, i) => (hit[i] ? [n.key] : []));
    if (found.length === 0) return;
    const from = current ? found.indexOf(current) : -1;
    reach(found[from < 0 ? (back ? found.length - 1 : 0) : (from + (back ? -1 : 1) + found.length) % found.length]!);
  };

  const marks = { current, selected, searching: words.length > 0 };
  const draw = useCallback((level: Level) => drawFlow(picture, level, marks), [picture, current, selected, words.length > 0, dark]);
  const save = () => {
    const shown = drawFlow(picture, FULL, { ...marks, current: null });
    download(svgText(shown, layout.width, layout.height, "data flow"), fileName("data-flow"));
  };
  const info = store.info("flow");
  const first = turnedTo?.key ?? selected;
  const start = layout.boxes[view.nodes.findIndex((n) => n.key === first)] ?? null;
  return (
    <>
      <Toolbar mode="flow" api={api} found={words.length > 0 ? hit.filter(Boolean).length : null} what="operations, tensors" onNext={next} onExport={save}>
        <Narrow flow={flow} scope={scope} view={view} selection={parse(route.sel)} />
      </Toolbar>
      <div class="picture">
        <Stage
          width={layout.width}
          height={layout.height}
          label="Data flow. Arrow keys follow tensors up and down, Enter selects, Space opens a span, Backspace closes it."
          of={`${route.in ?? ""} ${route.near ?? ""} ${route.steps ?? ""} ${turned} ${view.page} ${inputs}`}
          draw={draw}
          onPick={pick}
          onKey={onKey}
          api={api}
          say={at >= 0 ? titleOf(picture, at) : ""}
          start={start}
          least={0.6}
          middle
        />
      </div>
      <footer class="foot">
        <span role="status">
          {showing(view.drawn, view.operations, "operations")}
          {view.operations < flow.operations && ` of ${count(flow.operations)} in the page`}
          {view.left > 0 && `; ${count(view.left)} inputs and neighbours have no room among ${count(MOST)} nodes`}
          {view.cut > 0 && `; ${count(view.cut)} more around it are not shown`}
          {info && info.total !== null && info.total > info.rows && `; the page has the first ${count(info.rows)} of ${count(info.total)} rows of data flow`}
        </span>
        <Legend spans={spans} bar="bar: host time, of the longest shown" />
        <Unsound />
        <span class="gap" />
        <SqlButton query="flow" />
      </footer>
    </>
  );
}

/** Names of what a closed span holds: a search finds it by them. */
function names(flow: Flow, members: number[]): string[] {
  if (members.length < 2) return [];
  const set = new Set<string>();
  for (const node of members) {
    set.add(flow.name(node));
    if (set.size > 200) break;
  }
  return [...set];
}

/** What a node selects: its operation, or the first row of data flow that names it. */
function selOf(flow: Flow, node: number): string | null {
  if (node < 0) return null;
  const sel = flow.selOf(node);
  if (sel !== null) return sel;
  return flow.flowRow[node]! < 0 ? null : select.row("flow", flow.flowRow[node]!);
}

function keyOf(flow: Flow, sel: string | undefined): string | null {
  const selection = parse(sel);
  switch (selection?.kind) {
    case "op": {
      const node = flow.at(selection.span, selection.index);
      return node < 0 ? null : `op:${flow.seq[node]}`;
    }
    case "span":
      return `grp:${selection.id}`;
    case "tensor":
      return `in:${selection.id}`;
    default:
      return null;
  }
}

