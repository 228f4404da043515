// The data flow as SVG: operations and closed spans as boxes, tensors from nowhere as pills, lines between them.
// In: nodes, places, a level of detail. Out: `drawFlow`, `titleOf`. Left to neighbours: places (flow_layout.ts), zoom.
// Classes alone say how things look, so that the same picture can be exported with its looks written into it.

import type { VNode } from "preact";
import { cssMeaning } from "../../ui/colors";
import { bytes, count, duration, exact } from "../../ui/format";
import { printable, short } from "../../ui/text";
import type { TensorFacts } from "./categories";
import { fitText, widthOf } from "./fit_text";
import type { Flow } from "./flow";
import { type FlowLayout, HIGH, isMain, WIDE } from "./flow_layout";
import type { FlowLine, FlowNode, FlowView } from "./flow_view";
import type { Level } from "./stage";
import { both, type Marks } from "./tree_nodes";

export interface Picture {
  flow: Flow;
  view: FlowView;
  layout: FlowLayout;
  facts: Map<string, TensorFacts>;
  /** Host time that bars are parts of. */
  whole: number;
  hit: boolean[];
  /** Whether the box of a span can be closed: around one operation there are boxes that cannot. */
  closes: (span: number) => boolean;
}

/** Names in titles: the whole of most, and the ends of what is longer. */
const called = (name: string) => short(name, 300);

const PAD = 12;
const SMALL_PAD = 10;

/** What a small node says: a tensor of candle is called by its number, and what it is for, where that is known. */
function smallName(node: FlowNode): string {
  const number = /^TensorId\((.{1,12})\)$/.exec(node.name)?.[1];
  const name = number === undefined ? node.name : `#${number}`;
  if (node.kind === "outside") return `${node.side === "before" ? "↑" : "↓"} ${name}`;
  return node.category && node.tensors.length === 1 ? `${name} ${node.category}` : name;
}

/** Width of a small node: as long as its name, within reason. */
export function smallWidth(node: FlowNode): number {
  const room = isMain(node) ? widthOf(`↑ ${node.name.slice(0, 60)}`, 14) : widthOf(printable(smallName(node).slice(0, 60)), 14);
  return Math.max(44, room + (node.kind === "input" || node.kind === "link" ? 30 : 2 * SMALL_PAD + 2));
}

export function drawFlow(picture: Picture, level: Level, marks: Marks): VNode {
  const { flow, view, layout } = picture;
  const { nodes, lines } = view;
  const near = (line: FlowLine) => {
    const keys = [nodes[line.from]!.key, nodes[line.to]!.key];
    return keys.includes(marks.selected ?? "") || keys.includes(marks.current ?? "");
  };
  const loud = lines.map(near);
  return (
    <g class="flow">
      {layout.clusters.map(({ span, box, depth }) => (
        <g
          key={`s${span}`}
          class={`cluster${depth % 2 ? " odd" : ""}${marks.selected === `grp:${flow.spans.ids[span]}` ? " selected" : ""}`}
          data-key={`box:${flow.spans.ids[span]}`}
        >
          <title>{`${called(flow.spans.name(span))} (s${flow.spans.ids[span]}), ${count(flow.below(span))} operations, open`}</title>
          <rect class="ground" x={box.x} y={box.y} width={box.w} height={box.h} rx={8} />
          <ClusterName name={flow.spans.name(span)} box={box} level={level} />
          {level.mode === "full" && picture.closes(span) && (
            <g class="pill open" data-act="toggle" transform={`translate(${box.x + box.w - 26} ${box.y + 5})`}>
              <rect width={20} height={16} rx={8} />
              <text x={10} y={12} text-anchor="middle">
                −
              </text>
            </g>
          )}
        </g>
      ))}
      {[false, true].map((now) =>
        lines.map((line, i) =>
          loud[i] !== now || !layout.paths[i] ? null : (
            <g key={i} class={`${line.recorded ? "tie recorded" : "tie"}${now ? " loud" : ""}`}>
              <title>{lineTitle(flow, nodes, line)}</title>
              <path class="reach" d={layout.paths[i]} />
              <path class="way" d={layout.paths[i]} />
              <Head path={layout.paths[i]!} />
            </g>
          ),
        ),
      )}
      {layout.references.map((r) => (
        <g key={`r${r.line}`} class="node kind-outside" data-key={nodes[r.from]!.key} data-act="go" transform={`translate(${r.box.x} ${r.box.y})`}>
          <title>{`From ${called(nodes[r.from]!.name)}, further up: goes there`}</title>
          <Small name={`↑ ${nodes[r.from]!.name}`} wide={r.box.w} color={null} level={level} />
        </g>
      ))}
      {nodes.map((node, i) => {
        const box = layout.boxes[i]!;
        const classes = ["node", `kind-${node.kind}`];
        if (node.key === marks.selected) classes.push("selected");
        if (node.key === marks.current) classes.push("current");
        if (marks.searching) classes.push(picture.hit[i] ? "hit" : "dim");
        return (
          <g key={node.key} class={classes.join(" ")} data-key={node.key} transform={`translate(${box.x} ${box.y})`}>
            <title>{titleOf(picture, i)}</title>
            {isMain(node) ? (
              <Main picture={picture} node={node} level={level} />
            ) : (
              <Small
                name={smallName(node)}
                wide={box.w}
                color={node.kind === "outside" ? null : cssMeaning(node.category)}
                level={level}
              />
            )}
          </g>
        );
      })}
    </g>
  );
}

function ClusterName({ name, box, level }: { name: string; box: { x: number; y: number; w: number }; level: Level }) {
  if (level.mode === "block") return null;
  const size = level.mode === "full" ? 11.5 : Math.min(11 / level.scale, 18);
  return (
    <text class="sub" x={box.x + 8} y={box.y + 12 + size * 0.38} style={{ fontSize: `${size}px` }}>
      {fitText(name, Math.max(30, box.w - 42), size, 600)}
    </text>
  );
}

/** Where a line arrives. */
function Head({ path }: { path: string }) {
  const end = /(-?[\d.]+) (-?[\d.]+)L(-?[\d.]+) (-?[\d.]+)$/.exec(path);
  if (!end) return null;
  const [x0, y0, x, y] = end.slice(1).map(Number) as [number, number, number, number];
  const long = Math.hypot(x - x0, y - y0) || 1;
  const [dx, dy] = [(x - x0) / long, (y - y0) / long];
  const at = (along: number, aside: number) => `${(x - along * dx - aside * dy).toFixed(1)} ${(y - along * dy + aside * dx).toFixed(1)}`;
  return <path class="head" d={`M${at(6.5, 3.4)}L${x} ${y}L${at(6.5, -3.4)}z`} />;
}

function Main({ picture, node, level }: { picture: Picture; node: FlowNode; level: Level }) {
  const { flow, whole } = picture;
  const color = cssMeaning(node.span < 0 ? null : flow.spans.step(node.span));
  const part = node.time !== null && whole > 0 ? Math.min(1, node.time / whole) : 0;
  const full = level.mode === "full";
  const size = full ? 13 : Math.min(11 / level.scale, HIGH * 0.86);
  const time = node.time === null ? "" : duration(node.time);
  const small = full ? 12 : size;
  const group = node.kind === "group";
  const sub = group
    ? `${count(node.members.length)} operation${node.members.length === 1 ? "" : "s"}`
    : (flow.shape(node.members[0]!) ?? "");
  const pill = full && group ? 24 : 0;
  const room = WIDE - PAD - 8 - pill;
  const told = time !== "" && (full || widthOf(time, small) + widthOf("mmmmm", size, 600) < room);
  const name = fitText(node.name, told ? room - widthOf(time, small) - 8 : room, size, 600);
  const line = full ? 16.5 : HIGH / 2 + size * 0.35;
  return (
    <>
      <rect class="ring" x={-3} y={-3} width={WIDE + 6} height={HIGH + 6} rx={8} />
      {group && <rect class="box" x={3} y={3} width={WIDE} height={HIGH} rx={5} />}
      <rect class="box" width={WIDE} height={HIGH} rx={5} />
      <path
        class="stripe"
        style={{ fill: color }}
        d={level.mode === "block" ? `M0 0H${WIDE}V${HIGH}H0z` : `M5 0H6V${HIGH}H5A5 5 0 0 1 0 ${HIGH - 5}V5A5 5 0 0 1 5 0z`}
      />
      {level.mode !== "block" && (
        <>
          {part > 0.004 && (
            <rect class="portion" style={{ fill: color }} x={PAD} y={HIGH - 5} width={(WIDE - PAD - 8) * part} height={3} rx={1.5} />
          )}
          <text class="title" x={PAD} y={line} style={{ fontSize: `${size}px` }}>
            {name}
          </text>
          {told && (
            <text class="sub" x={WIDE - 8 - pill} y={line} text-anchor="end" style={{ fontSize: `${small}px` }}>
              {time}
            </text>
          )}
          {full && (
            <text class="sub" x={PAD} y={30}>
              {fitText(sub, WIDE - PAD - 8, 12)}
            </text>
          )}
        </>
      )}
      {pill > 0 && (
        <g class="pill" data-act="toggle" transform={`translate(${WIDE - 27} 5)`}>
          <rect width={20} height={17} rx={8.5} />
          <text x={10} y={12.6} text-anchor="middle">
            +
          </text>
        </g>
      )}
    </>
  );
}

function Small({ name, wide, color, level }: { name: string; wide: number; color: string | null; level: Level }) {
  const size = level.mode === "name" ? Math.min(11 / level.scale, 15) : 12;
  return (
    <>
      <rect class="ring" x={-3} y={-3} width={wide + 6} height={30} rx={15} />
      <rect class="box" width={wide} height={24} rx={12} />
      {color && <circle class="stripe" style={{ fill: color }} cx={11} cy={12} r={4} />}
      {level.mode !== "block" && (
        <text class="sub" x={color ? 20 : SMALL_PAD} y={12 + size * 0.35} style={{ fontSize: `${size}px` }}>
          {fitText(name, wide - (color ? 26 : 2 * SMALL_PAD - 4), size)}
        </text>
      )}
    </>
  );
}

const tensorsSaid = (flow: Flow, tensors: number[], most = 6) => {
  const names = tensors.slice(0, most).map((t) => short(flow.tensors[t]!, 40));
  return tensors.length > most ? `${names.join(", ")} and ${count(tensors.length - most)} more` : names.join(", ");
};

function lineTitle(flow: Flow, nodes: FlowNode[], line: FlowLine): string {
  const from = nodes[line.from]!;
  const to = nodes[line.to]!;
  const one = from.kind === "op" && line.tensors.length === 1 ? from.members[0]! : -1;
  const what = one >= 0 ? [flow.shape(one), flow.bytes(one) === null ? null : `${exact(flow.bytes(one), "bytes")} dense footprint`] : [];
  const facts = what.filter((t) => t !== null).join(", ");
  const how = line.recorded ? ", recorded as an edge" : "";
  return `${called(from.name)} → ${called(to.name)}: ${tensorsSaid(flow, line.tensors)}${facts ? ` (${facts})` : ""}${how}`;
}

/** Everything a node says, in words: for a pointer on it, and for who listens. */
export function titleOf({ flow, view, facts }: Picture, at: number): string {
  const node = view.nodes[at]!;
  const parts: string[] = [];
  const span = node.span >= 0 ? `${called(flow.spans.name(node.span))} (s${flow.spans.ids[node.span]})` : null;
  const time = node.time === null ? "host time not known" : both(node.time);
  switch (node.kind) {
    case "op":
      parts.push(called(node.name), time);
      if (flow.shape(node.members[0]!)) parts.push(printable(flow.shape(node.members[0]!)!));
      if (span) parts.push(`in ${span}`);
      break;
    case "group":
      parts.push(`${span}: ${count(node.members.length)} operations, closed`, `${time} in all`);
      break;
    case "link":
      parts.push(`tensor ${called(node.name)}, tied by a recorded edge`);
      break;
    case "input": {
      parts.push(`${node.tensors.length === 1 ? "tensor" : "tensors"} ${tensorsSaid(flow, node.tensors, 12)}`);
      const fact = node.tensors.length === 1 ? facts.get(flow.tensors[node.tensors[0]!]!) : undefined;
      if (node.category) parts.push(printable(node.category));
      if (fact && fact.bytes !== null) parts.push(`${bytes(fact.bytes)} of storage`);
      parts.push("no operation of this page made it");
      break;
    }
    case "outside":
      parts.push(`${called(node.name)}, ${node.side === "before" ? "made what is taken here" : "takes what is made here"}, not in this picture`);
      break;
  }
  const said = (list: string[]) => (list.length > 4 ? `${list.slice(0, 4).join(", ")} and ${count(list.length - 4)} more` : list.join(", "));
  const from = view.lines.filter((l) => l.to === at).map((l) => short(view.nodes[l.from]!.name, 40));
  const to = view.lines.filter((l) => l.from === at).map((l) => short(view.nodes[l.to]!.name, 40));
  if (from.length > 0) parts.push(`from ${said(from)}`);
  if (to.length > 0) parts.push(`to ${said(to)}`);
  return parts.join(", ");
}
