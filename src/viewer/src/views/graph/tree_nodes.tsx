// The call tree as SVG: a box a node, its colour the step, its bar the part of the measured region.
// In: nodes, boxes, a level of detail. Out: `drawTree`. Left to neighbours: places (tree_layout.ts), zoom (stage.tsx).
// Classes alone say how things look, so that the same picture can be exported with its looks written into it (export.ts).

import type { VNode } from "preact";
import { cssMeaning } from "../../ui/colors";
import { count, duration, exact, percent } from "../../ui/format";
import { printable, short } from "../../ui/text";
import { fitText, widthOf } from "./fit_text";
import type { Level } from "./stage";
import type { Spans } from "./spans";
import { HIGH, type TreeLayout, WIDE } from "./tree_layout";
import type { TreeNode } from "./tree_model";

export interface Marks {
  /** Key that the arrow keys have reached. */
  current: string | null;
  selected: string | null;
  /** Whether a search dims what it does not find. */
  searching: boolean;
}

const PAD = 13;

export function drawTree(nodes: TreeNode[], layout: TreeLayout, spans: Spans, level: Level, marks: Marks): VNode {
  return (
    <g class="tree">
      <path class="line" d={layout.lines.join("")} />
      {nodes.map((node, i) => {
        const { x, y } = layout.boxes[i]!;
        const classes = ["node", `kind-${node.kind}`];
        if (node.key === marks.selected) classes.push("selected");
        if (node.key === marks.current) classes.push("current");
        if (marks.searching && node.hit) classes.push("hit");
        if (marks.searching && node.hits === 0) classes.push("dim");
        return (
          <g key={node.key} class={classes.join(" ")} data-key={node.key} transform={`translate(${x} ${y})`}>
            <title>{titleOf(node, spans)}</title>
            {node.kind === "more" ? <More node={node} level={level} /> : <Node node={node} level={level} />}
          </g>
        );
      })}
    </g>
  );
}

function Node({ node, level }: { node: TreeNode; level: Level }) {
  const color = cssMeaning(node.step);
  return (
    <>
      <rect class="ring" x={-3} y={-3} width={WIDE + 6} height={HIGH + 6} rx={8} />
      {node.kind !== "span" && <rect class="box" x={3} y={3} width={WIDE} height={HIGH} rx={5} />}
      <rect class="box" width={WIDE} height={HIGH} rx={5} />
      {level.mode === "block" && <rect class="stripe" style={{ fill: color }} width={WIDE} height={HIGH} rx={5} />}
      {level.mode !== "block" && <path class="stripe" style={{ fill: color }} d={`M5 0H6V${HIGH}H5A5 5 0 0 1 0 ${HIGH - 5}V5A5 5 0 0 1 5 0z`} />}
      {level.mode === "full" && <Words node={node} color={color} />}
      {level.mode === "name" && <Name node={node} scale={level.scale} color={color} />}
    </>
  );
}

function Words({ node, color }: { node: TreeNode; color: string }) {
  const pill = node.children > 0 ? widthOf(count(node.children), 11.5, 600) + 22 : 0;
  const times = node.rows.length > 1 ? `×${count(node.rows.length)}` : "";
  const room = WIDE - 2 * PAD - pill - (times ? widthOf(times, 12) + 6 : 0);
  const name = fitText(node.name, room, 13, 600);
  const full = WIDE - 2 * PAD;
  const part = (ns: number | null) => (node.share && node.total ? Math.min(1, ((ns ?? 0) / node.total) * node.share) : 0);
  const below = foundBelow(node) ? `${foundBelow(node)} below` : "";
  return (
    <>
      <text class="title" x={PAD} y={18.5}>
        {name}
      </text>
      {times && (
        <text class="times" x={PAD + widthOf(name, 13, 600) + 6} y={18.5}>
          {times}
        </text>
      )}
      <text class={below ? "sub found" : "sub"} x={PAD} y={35}>
        {below || fittingTimes(node)}
      </text>
      {node.share !== null && !below && (
        <text class="sub" x={WIDE - PAD} y={35} text-anchor="end">
          {percent(node.share)}
        </text>
      )}
      {node.share !== null && (
        <>
          <rect class="track" x={PAD} y={41} width={full} height={3} rx={1.5} />
          <rect class="portion" style={{ fill: color }} x={PAD} y={41} width={full * part(node.total)} height={3} rx={1.5} />
          <rect class="own" style={{ fill: color }} x={PAD} y={41} width={full * part(node.self)} height={3} rx={1.5} />
        </>
      )}
      {pill > 0 && (
        <g class={node.expanded ? "pill open" : "pill"} data-act="toggle" transform={`translate(${WIDE - pill - 7} 6)`}>
          <rect width={pill} height={17} rx={8.5} />
          <text x={7} y={12.6}>
            {`${node.expanded ? "−" : "+"} ${count(node.children)}`}
          </text>
        </g>
      )}
    </>
  );
}

/** Name and time in one line, in letters as large as the picture is small; the time goes first where there is no room. */
function Name({ node, scale, color }: { node: TreeNode; scale: number; color: string }) {
  const size = Math.min(11 / scale, HIGH * 0.8);
  const found = foundBelow(node);
  const time = found || (node.total === null ? "" : duration(node.total));
  const room = WIDE - PAD - 8;
  const both = time !== "" && widthOf(time, size) + widthOf("mmmmmm", size, 600) < room;
  const name = fitText(node.name, both ? room - widthOf(time, size) - size * 0.6 : room, size, 600);
  const line = scale > 0.42 && node.share !== null ? HIGH / 2 - 3 : HIGH / 2;
  const part = (ns: number | null) => (node.share && node.total ? Math.min(1, ((ns ?? 0) / node.total) * node.share) : 0);
  return (
    <>
      <text class="title" x={PAD} y={line + size * 0.35} style={{ fontSize: `${size}px` }}>
        {name}
      </text>
      {both && (
        <text class={found ? "sub found" : "sub"} x={WIDE - 8} y={line + size * 0.35} text-anchor="end" style={{ fontSize: `${size}px` }}>
          {time}
        </text>
      )}
      {line < HIGH / 2 && (
        <>
          <rect class="portion" style={{ fill: color }} x={PAD} y={HIGH - 9} width={(room - 2) * part(node.total)} height={5} rx={2} />
          <rect class="own" style={{ fill: color }} x={PAD} y={HIGH - 9} width={(room - 2) * part(node.self)} height={5} rx={2} />
        </>
      )}
    </>
  );
}

function More({ node, level }: { node: TreeNode; level: Level }) {
  if (level.mode === "block") return <rect class="box" width={WIDE} height={26} rx={13} />;
  const size = level.mode === "full" ? 12 : Math.min(11 / level.scale, 22);
  return (
    <>
      <rect class="ring" x={-3} y={-3} width={WIDE + 6} height={32} rx={15} />
      <rect class="box" width={WIDE} height={26} rx={13} />
      <text class="sub" x={WIDE / 2} y={13 + size * 0.35} text-anchor="middle" style={{ fontSize: `${size}px` }}>
        {fitText(`${node.name} · more`, WIDE - 20, size)}
      </text>
    </>
  );
}

/** A time as people read it, and exactly. */
export function both(ns: number): string {
  const [short, whole] = [duration(ns), exact(ns, "ns")];
  return short === whole ? short : `${short} (${whole})`;
}

/** What a search finds below a closed node, where it does not find the node itself. */
export function foundBelow(node: TreeNode): string {
  return !node.hit && node.hits > 0 && !node.expanded ? `${count(node.hits)} found` : "";
}

/** Total and self, as far as the share beside them leaves room. */
function fittingTimes(node: TreeNode): string {
  const times = timesOf(node);
  const share = node.share === null ? 0 : widthOf(percent(node.share), 11) + 8;
  return widthOf(times, 11) + share > WIDE - 2 * PAD && node.total !== null ? duration(node.total) : times;
}

export function timesOf(node: TreeNode): string {
  if (node.total === null) return node.rows.length > 1 ? "none of them closed: no time" : "never closed: no time";
  const self = node.children > 0 || node.self !== node.total ? ` · self ${node.self === null ? "–" : duration(node.self)}` : "";
  return `${duration(node.total)}${self}`;
}

/** Everything a node says, in words: for a pointer on it, and for who listens. */
export function titleOf(node: TreeNode, spans: Spans): string {
  if (node.kind === "more") return `${node.name}: opens more of them`;
  const parts = [short(node.name, 300)];
  if (node.kind === "span") parts[0] += ` (s${spans.ids[node.row]})`;
  else parts[0] += `: ${count(node.rows.length)} spans${node.kind === "pattern" ? " whose names differ in digits alone" : " of this name"}`;
  if (node.total === null) parts.push(timesOf(node));
  else {
    const sum = node.rows.length > 1 ? ", summed" : "";
    parts.push(`total ${both(node.total)}${sum}`);
    if (node.self !== null) parts.push(`self ${duration(node.self)}`);
    if (node.unknown > 0) parts.push(`${count(node.unknown)} of them never closed and have no time`);
    parts.push(node.share === null ? "outside the measured region" : `${percent(node.share)} of the measured region`);
  }
  if (node.step) parts.push(`step ${printable(node.step)}`);
  if (node.children > 0) parts.push(`${count(node.children)} below${node.expanded ? "" : ", closed"}`);
  return parts.join(", ");
}
