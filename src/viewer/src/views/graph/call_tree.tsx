// The call tree: spans below the spans that opened them, as a picture and as an outline with the same keys.
// In: block spans, the route. Out: `CallTree`. Left to neighbours: nodes (tree_model.ts), drawing (tree_nodes.tsx).
// What is open is kept for as long as the page lives; a selection from another view opens the way to it.

import { useCallback, useEffect, useMemo, useRef, useState } from "preact/hooks";
import { useTable } from "../../data/store";
import { useRoute } from "../../state/route";
import { parse, select } from "../../state/selection";
import { useTheme } from "../../state/theme";
import { count, showing } from "../../ui/format";
import { SqlButton } from "../../ui/sql";
import { download, fileName, svgText } from "./export";
import { Legend } from "./legend";
import { Outline } from "./outline";
import { Missing, Unsound } from "./missing";
import { FULL, type Level, Stage, type StageApi } from "./stage";
import { type Spans, spansOf } from "./spans";
import { Toolbar } from "./toolbar";
import { layoutTree } from "./tree_layout";
import { CHUNK, MOST, openAtFirst, type Order, reveal, search, type Shape, type TreeNode, visible } from "./tree_model";
import { drawTree, titleOf } from "./tree_nodes";

export function CallTree() {
  const of = useTable("spans");
  if (!of.table) return <Missing mode="tree" of={of} what="spans" />;
  if (of.table.rows === 0) return <Missing mode="tree" of={{ state: "unavailable", reason: "no span was recorded" }} what="spans" />;
  return <Tree spans={spansOf(of.table)} />;
}

/** Kept while the page lives: leaving the view closes nothing. */
let kept: Omit<Shape, "order"> | null = null;

function Tree({ spans }: { spans: Spans }) {
  const [route, go] = useRoute();
  const { dark } = useTheme();
  const api = useRef<StageApi | null>(null);
  const order: Order = route.order === "slowest" ? "slowest" : "run";
  const [open, setOpen] = useState(() => kept ?? { expanded: openAtFirst(spans), limits: new Map(), pinned: new Set<string>() });
  kept = open;
  const shape: Shape = useMemo(() => ({ ...open, order }), [open, order]);
  const hits = useMemo(() => search(spans, route.q ?? ""), [spans, route.q]);
  const all = useMemo(() => visible(spans, shape, hits), [spans, shape, hits]);
  const nodes = all.length > MOST ? all.slice(0, MOST) : all;
  const layout = useMemo(() => layoutTree(nodes), [nodes.length, all]);
  const [current, setCurrent] = useState<string | null>(null);
  const selection = parse(route.sel);
  const selected = selection?.kind === "span" ? `span:${selection.id}` : selection?.kind === "op" ? `span:${selection.span}` : null;
  const at = nodes.findIndex((n) => n.key === current);

  // A selection shows itself: everything above it opens, and the picture moves to it.
  const wanted = useRef<string | null>(null);
  useEffect(() => {
    if (!selected || !selection) return;
    const row = spans.row(selection.kind === "span" ? selection.id : selection.kind === "op" ? selection.span : NaN);
    if (row < 0) return;
    setCurrent(selected);
    wanted.current = selected;
    if (!nodes.some((n) => n.key === selected)) setOpen((o) => reveal(spans, { ...o, order }, row));
  }, [selected, spans]);
  useEffect(() => {
    const place = wanted.current === null ? -1 : nodes.findIndex((n) => n.key === wanted.current);
    if (place < 0) return;
    wanted.current = null;
    api.current?.show(layout.boxes[place]!);
  });

  const reach = (key: string) => {
    setCurrent(key);
    wanted.current = key;
  };
  const set = (node: TreeNode, expand: boolean) => {
    const expanded = new Set(open.expanded);
    if (expand) expanded.add(node.key);
    else expanded.delete(node.key);
    setOpen({ ...open, expanded });
  };
  const more = (node: TreeNode) => {
    const key = node.key.slice("more:".length);
    setOpen({ ...open, limits: new Map(open.limits).set(key, (open.limits.get(key) ?? CHUNK) + CHUNK) });
  };
  const pick = (key: string, act: string | null) => {
    const node = nodes.find((n) => n.key === key);
    if (!node) return;
    setCurrent(key);
    if (node.kind === "more") more(node);
    else if (act === "toggle" || node.kind !== "span") set(node, !node.expanded);
    else go({ sel: select.span(spans.ids[node.row]!) });
  };
  const onKey = (event: KeyboardEvent): boolean => {
    const here = Math.max(0, at);
    const node = nodes[here];
    if (!node) return false;
    const to = (place: number) => {
      const next = nodes[Math.max(0, Math.min(nodes.length - 1, place))];
      if (next) reach(next.key);
      return true;
    };
    switch (event.key) {
      case "ArrowDown":
        return to(at < 0 ? 0 : here + 1);
      case "ArrowUp":
        return to(here - 1);
      case "PageDown":
        return to(here + 10);
      case "PageUp":
        return to(here - 10);
      case "Home":
        return to(0);
      case "End":
        return to(nodes.length - 1);
      case "ArrowRight":
        if (node.children > 0 && !node.expanded) set(node, true);
        else if (node.expanded) to(here + 1);
        return true;
      case "ArrowLeft":
        if (node.expanded) set(node, false);
        else if (node.parent >= 0) to(node.parent);
        return true;
      case " ":
        if (node.kind === "more") more(node);
        else if (node.children > 0) set(node, !node.expanded);
        return true;
      case "Enter":
        pick(node.key, null);
        return true;
      case "*": {
        const expanded = new Set(open.expanded);
        for (const n of nodes) if (n.parent === node.parent && n.children > 0 && n.kind !== "pattern") expanded.add(n.key);
        setOpen({ ...open, expanded });
        return true;
      }
      default:
        return false;
    }
  };

  const next = (back: boolean) => {
    if (!hits || hits.total === 0) return;
    const found: number[] = [];
    for (let row = 0; row < spans.rows; row++) if (hits.of[row]) found.push(row);
    found.sort((a, b) => spans.first[a]! - spans.first[b]!);
    const keys = found.map((row) => `span:${spans.ids[row]}`);
    const from = current ? keys.indexOf(current) : -1;
    const place = from < 0 ? (back ? found.length - 1 : 0) : (from + (back ? -1 : 1) + found.length) % found.length;
    setOpen((o) => reveal(spans, { ...o, order }, found[place]!));
    reach(keys[place]!);
  };

  const marks = { current, selected, searching: hits !== null };
  const draw = useCallback(
    (level: Level) => drawTree(nodes, layout, spans, level, marks),
    [nodes, layout, spans, current, selected, hits !== null, dark],
  );
  const save = () => {
    const picture = drawTree(nodes, layout, spans, FULL, { ...marks, current: null });
    download(svgText(picture, layout.width, layout.height, "call tree"), fileName("call-tree"));
  };
  const drawn = nodes.reduce((n, node) => n + (node.kind === "span" ? 1 : 0), 0);
  const grouped = nodes.reduce((n, node) => n + (node.rows.length > 1 && !node.expanded ? node.rows.length : 0), 0);
  const outline = route.outline !== "no";
  return (
    <>
      <Toolbar mode="tree" api={api} found={hits?.total ?? null} what="spans" onNext={next} onExport={save}>
        <div class="segmented" role="group" aria-label="Order of siblings">
          <button type="button" aria-pressed={order === "run"} onClick={() => go({ order: undefined }, "replace")}>
            As they ran
          </button>
          <button type="button" aria-pressed={order === "slowest"} onClick={() => go({ order: "slowest" }, "replace")}>
            Slowest first
          </button>
        </div>
        <button
          type="button"
          class="quiet framed"
          aria-pressed={outline}
          onClick={() => go({ outline: outline ? "no" : undefined }, "replace")}
        >
          Outline
        </button>
      </Toolbar>
      <div class="picture">
        {outline && <Outline nodes={nodes} current={current} selected={selected} onPick={pick} onKey={onKey} />}
        <Stage
          width={layout.width}
          height={layout.height}
          label="Call tree. Arrow keys move between spans, Space opens and closes, Enter selects."
          of="tree"
          least={0.62}
          draw={draw}
          onPick={pick}
          onKey={onKey}
          api={api}
          say={nodes[at] ? titleOf(nodes[at]!, spans) : ""}
        />
      </div>
      <footer class="foot">
        <span role="status">
          {showing(drawn, spans.rows, "spans")}
          {grouped > 0 && `, ${count(grouped)} in groups`}
          {all.length > MOST && `; the first ${count(MOST)} of ${count(all.length)} open nodes are drawn: close some, or search`}
        </span>
        <Legend spans={spans} />
        <Unsound />
        <span class="gap" />
        <SqlButton query="spans" />
      </footer>
    </>
  );
}
