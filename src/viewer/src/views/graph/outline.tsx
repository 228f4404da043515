// The call tree as an outline: the same nodes as the picture, for who reads line by line or listens.
// In: the nodes, which one the keys have reached. Out: `Outline`, a tree of WAI-ARIA. Left to neighbours: keys of the tree
// (call_tree.tsx), the picture.
// One item has the focus; lines that are out of sight are not drawn.

import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { cssMeaning } from "../../ui/colors";
import { count, duration } from "../../ui/format";
import { short } from "../../ui/text";
import type { TreeNode } from "./tree_model";
import { foundBelow } from "./tree_nodes";

interface Props {
  nodes: TreeNode[];
  current: string | null;
  selected: string | null;
  onPick: (key: string, act: string | null) => void;
  onKey: (event: KeyboardEvent) => boolean;
}

const LINE = 25;
const SPARE = 10;

export function Outline({ nodes, current, selected, onPick, onKey }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const [scroll, setScroll] = useState(0);
  const [high, setHigh] = useState(400);
  useLayoutEffect(() => {
    const el = box.current!;
    const observer = new ResizeObserver(() => setHigh(el.clientHeight));
    observer.observe(el);
    return () => observer.disconnect();
  }, []);
  const at = Math.max(
    0,
    nodes.findIndex((n) => n.key === current),
  );
  const focused = () => box.current?.contains(document.activeElement) ?? false;

  // What the keys reach comes into sight, and takes the focus where the outline has it.
  const had = useRef(false);
  useLayoutEffect(() => {
    const el = box.current!;
    if (at * LINE < el.scrollTop) el.scrollTop = at * LINE;
    else if ((at + 1) * LINE > el.scrollTop + el.clientHeight) el.scrollTop = (at + 1) * LINE - el.clientHeight;
  }, [at, nodes]);
  useEffect(() => {
    if (!had.current) return;
    had.current = false;
    box.current?.querySelector<HTMLElement>('[tabindex="0"]')?.focus({ preventScroll: true });
  });

  const first = Math.max(0, Math.floor(scroll / LINE) - SPARE);
  const last = Math.min(nodes.length, Math.ceil((scroll + high) / LINE) + SPARE);
  // The item with the focus is drawn wherever it is: the focus must not get lost.
  const drawn = Array.from({ length: Math.max(0, last - first) }, (_, i) => first + i);
  if (at < first || at >= last) drawn.push(at);
  return (
    <div
      class="outline"
      ref={box}
      role="tree"
      aria-label="Call tree"
      onScroll={(e) => setScroll(e.currentTarget.scrollTop)}
      onKeyDown={(event) => {
        if (event.ctrlKey || event.metaKey || event.altKey) return;
        had.current = focused();
        if (onKey(event)) event.preventDefault();
        else had.current = false;
      }}
    >
      <div class="lines" role="none" style={{ height: `${nodes.length * LINE}px` }}>
        {drawn.map((i) => {
          const node = nodes[i];
          return node && <Item key={node.key} {...{ node, top: i * LINE, tab: i === at, selected, onPick }} />;
        })}
      </div>
    </div>
  );
}

interface ItemProps {
  node: TreeNode;
  top: number;
  tab: boolean;
  selected: string | null;
  onPick: (key: string, act: string | null) => void;
}

function Item({ node, top, tab, selected, onPick }: ItemProps) {
  const name = short(node.name, 300);
  return (
    <div
      class={`item${node.hit ? " hit" : ""}`}
      role="treeitem"
      aria-level={node.depth + 1}
      aria-posinset={node.place}
      aria-setsize={node.siblings}
      aria-expanded={node.children > 0 ? node.expanded : undefined}
      aria-selected={node.key === selected}
      tabIndex={tab ? 0 : -1}
      style={{ top: `${top}px`, paddingLeft: `${8 + Math.min(node.depth, 8) * 13}px` }}
      onClick={(e) => onPick(node.key, (e.target as Element).closest("[data-act]")?.getAttribute("data-act") ?? null)}
      title={name}
    >
      <span class="twist" data-act="toggle" aria-hidden="true">
        {node.children > 0 ? (node.expanded ? "▾" : "▸") : ""}
      </span>
      <i style={{ background: node.kind === "more" ? "transparent" : cssMeaning(node.step) }} aria-hidden="true" />
      <span class="what">{name}</span>
      {node.rows.length > 1 && <span class="soft">×{count(node.rows.length)}</span>}
      <span class="gap" />
      {foundBelow(node) ? (
        <span class="found">{foundBelow(node)}</span>
      ) : (
        node.kind !== "more" && <span class="time">{node.total === null ? "no time" : duration(node.total)}</span>
      )}
    </div>
  );
}
