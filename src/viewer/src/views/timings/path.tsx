// The critical path as a chart: when the region waited for which span, one row a depth, coloured by step.
// In: block critical_path. Out: `CriticalPath`. Left to neighbours: the list below it (groupings.tsx), all spans (Timeline).
// Spans too narrow to be seen are not drawn, and it says how many.

import { useEffect, useRef, useState } from "preact/hooks";
import type { Table } from "../../data/table";
import { useRoute } from "../../state/route";
import { parse, select, spanNumber } from "../../state/selection";
import { cssMeaning } from "../../ui/colors";
import { count, duration, percent } from "../../ui/format";
import { printable, short } from "../../ui/text";

const ROW = 18;
const DEEPEST = 12;

/** Depths that are drawn, less one. */
function deepestOf(table: Table): number {
  let deepest = 0;
  for (const depth of table.num("depth").values) deepest = Math.max(deepest, Math.min(DEEPEST, depth));
  return deepest;
}

/** Pixels that the chart takes, its key included. */
export function chartHeight(table: Table): number {
  return table.rows === 0 ? 0 : (deepestOf(table) + 1) * ROW + 45;
}

export function CriticalPath({ table }: { table: Table }) {
  const [route, go] = useRoute();
  const box = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(1000);
  useEffect(() => {
    const el = box.current;
    if (!el) return;
    const watch = new ResizeObserver(() => setWidth(el.clientWidth));
    watch.observe(el);
    return () => watch.disconnect();
  }, []);
  if (table.rows === 0) return null;
  const from = table.num("from_ns").values;
  const to = table.num("to_ns").values;
  const depth = table.num("depth").values;
  let start = Infinity;
  let end = -Infinity;
  const deepest = deepestOf(table);
  for (let i = 0; i < table.rows; i++) {
    start = Math.min(start, from[i]!);
    end = Math.max(end, to[i]!);
  }
  const x = (ns: number) => ((ns - start) / Math.max(1, end - start)) * width;
  const drawn: number[] = [];
  for (let i = 0; i < table.rows; i++) if (x(to[i]!) - x(from[i]!) >= 1 && depth[i]! <= DEEPEST) drawn.push(i);
  const chosen = parse(route.sel);
  const steps = [...new Set(Array.from({ length: table.rows }, (_, i) => table.string("step", i) ?? "untracked"))];
  return (
    <figure class="path" ref={box}>
      <svg width={width} height={(deepest + 1) * ROW} role="img" aria-label="Critical path over time, one row a depth">
        {drawn.map((i) => {
          const left = x(from[i]!);
          const wide = x(to[i]!) - left;
          const name = table.string("name", i) ?? "";
          const id = table.cell("id", i);
          const here = chosen?.kind === "span" && chosen.id === spanNumber(id);
          return (
            <g key={i} class={here ? "here" : undefined} onClick={() => go({ sel: select.span(id) })}>
              <title>
                {`${printable(name)}: ${duration(table.number("path_ns", i) ?? 0)} waited for, ${percent(table.number("share", i) ?? 0)} of the region`}
              </title>
              <rect
                x={left}
                y={depth[i]! * ROW}
                width={Math.max(1, wide - 0.5)}
                height={ROW - 2}
                rx={2}
                fill={cssMeaning(table.string("step", i) ?? "untracked")}
              />
              {wide > 46 && (
                <text x={left + 5} y={depth[i]! * ROW + 12}>
                  {short(name, Math.max(3, Math.floor((wide - 8) / 7.2)))}
                </text>
              )}
            </g>
          );
        })}
      </svg>
      <figcaption>
        <ul class="legend">
          {steps.map((s) => (
            <li key={s}>
              <i style={{ background: cssMeaning(s) }} aria-hidden="true" />
              <span class="name">{printable(s)}</span>
            </li>
          ))}
        </ul>
        <span class="cut">
          {duration(end - start)} from left to right
          {drawn.length < table.rows &&
            ` · showing ${count(drawn.length)} of ${count(table.rows)} spans: the others are narrower than a pixel`}
        </span>
      </figcaption>
    </figure>
  );
}
