// Every run as a dot in the order in which the runs started: pairs joined, medians as lines, what stands apart ringed.
// In: the document. Out: `Picture`. Left to neighbours: the interval below it (strip.tsx), the runs as a table (runs.tsx).
// Arrow keys go from run to run; the run under the pointer or the keys is told in words below the picture.

import { useState } from "preact/hooks";
import { useRoute } from "../../state/route";
import { select } from "../../state/selection";
import { count, duration } from "../../ui/format";
import { printable, short } from "../../ui/text";
import { axisOf, niceStep, timeUnit } from "./axis";
import { type Comparison, type Dot, dotsOf, type Side } from "./document";
import { Mark } from "./marks";
import { names } from "./words";
import { useWidth } from "./width";

const HIGH = 292;
export const LEFT = 62;
export const RIGHT = 168;
const TOP = 28;
const BOTTOM = 44;
const INSET = 18;
/** Runs that are drawn; of more, every second, third and so on. */
const DOTS = 2000;
/** Runs that stand apart and are called by their place. */
const CALLED = 12;

export function Picture({ c }: { c: Comparison }) {
  const [box, width] = useWidth(620);
  const [route, go] = useRoute();
  const [hot, setHot] = useState<number | null>(null);
  const dots = dotsOf(c);
  const walls = dots.flatMap((d) => (d.run.outer_wall_time_ns === null ? [] : [d.run.outer_wall_time_ns]));
  if (walls.length === 0) return <p class="soft body">No wall time is known: there is nothing to draw.</p>;
  const [size, unit] = timeUnit(walls.reduce((a, b) => Math.max(a, b)));
  const axis = axisOf(walls.map((ns) => ns / size), 5);
  const foot = HIGH - BOTTOM;
  const end = width - RIGHT;
  const x = (place: number) => LEFT + INSET + (end - LEFT - 2 * INSET) * (dots.length > 1 ? (place - 1) / (dots.length - 1) : 0.5);
  const y = (ns: number) => foot - (foot - TOP) * axis.place(ns / size);
  const at = (dot: Dot) => ({ x: x(dot.place), y: y(dot.run.outer_wall_time_ns!) });
  const radius = dots.length <= 60 ? 5.5 : dots.length <= 300 ? 3.6 : 2.2;
  const every = Math.max(1, Math.ceil(dots.length / DOTS));
  const shown = dots.filter((d, i) => d.run.outer_wall_time_ns !== null && i % every === 0);
  const chosen = /^row:comparison\.runs:(\d+)$/.exec(route.sel ?? "");
  const told = dots[hot ?? (chosen ? Number(chosen[1]) : -1)];
  const mate = told?.run.pair_id ?? null;
  const choose = (i: number) => go({ sel: select.row("comparison.runs", i) });
  const onKey = (event: KeyboardEvent) => {
    const from = hot ?? (chosen ? Number(chosen[1]) : -1);
    const steps: Record<string, number> = { ArrowRight: from + 1, ArrowLeft: Math.max(0, from - 1), Home: 0, End: dots.length - 1 };
    if (event.key in steps) setHot(Math.max(0, Math.min(dots.length - 1, steps[event.key]!)));
    else if (event.key === "Enter" && from >= 0) choose(from);
    else return;
    event.preventDefault();
  };
  // The dot nearest to the pointer, within a hand's breadth.
  const nearest = (event: MouseEvent): number | null => {
    const { left, top } = (event.currentTarget as Element).getBoundingClientRect();
    const [px, py] = [event.clientX - left, event.clientY - top];
    let [best, least] = [-1, 28];
    for (const d of shown) {
      const p = at(d);
      const far = Math.hypot(p.x - px, p.y - py);
      if (far < least) [best, least] = [d.place - 1, far];
    }
    return best < 0 ? null : best;
  };

  return (
    <div class="plot" ref={box}>
      <svg
        width={width}
        height={HIGH}
        role="img"
        aria-label={described(c, dots.length)}
        tabIndex={0}
        onKeyDown={onKey}
        onMouseMove={(e) => setHot(nearest(e))}
        onMouseLeave={() => setHot(null)}
        onBlur={() => setHot(null)}
        onClick={(e) => {
          const i = nearest(e);
          if (i !== null) choose(i);
        }}
      >
        {axis.ticks.map(({ place, label }) => {
          const ty = foot - (foot - TOP) * place;
          return (
            <g key={label}>
              <path class="grid" d={`M${LEFT} ${ty}H${end}`} />
              <text class="end" x={LEFT - 8} y={ty + 4}>
                {label}
              </text>
            </g>
          );
        })}
        <path class="axis" d={`M${LEFT} ${foot}H${end}`} />
        <text x={0} y={12}>{`wall time of the measured region in ${axis.power === 0 ? "" : `10^${axis.power} `}${unit}${axis.log ? ", logarithmic" : ""}`}</text>
        <text class="mid" x={(LEFT + end) / 2} y={HIGH - 4}>
          runs in the order in which they started
        </text>
        {places(dots.length).map((place) => (
          <text key={place} class="mid" x={x(place)} y={foot + 16}>
            {place}
          </text>
        ))}
        {joined(shown).map(([a, b]) => {
          const [p, q] = [at(a), at(b)];
          return <path key={a.place} class={mate !== null && a.run.pair_id === mate ? "joins hot" : "joins"} d={`M${p.x} ${p.y}L${q.x} ${q.y}`} />;
        })}
        <Medians c={c} end={end} y={y} />
        {shown.map((d) => {
          const p = at(d);
          return (
            <g key={d.place} class={told && told.place === d.place ? "run hot" : "run"}>
              {d.apart && <circle class="ring" cx={p.x} cy={p.y} r={radius + 5} />}
              <Mark side={d.side} x={p.x} y={p.y} size={told && told.place === d.place ? radius + 1.8 : radius} />
            </g>
          );
        })}
        <Called dots={shown} at={at} end={end} />
      </svg>
      <p class="told" role="status">
        {told ? (
          say(told)
        ) : (
          <span class="soft">
            {count(dots.length)} runs{c.paired ? ", thin lines join the runs of a pair" : ""}
            {every > 1 ? `; showing ${count(shown.length)} of ${count(dots.length)}` : ""}. Point at one, or use the arrow keys.
          </span>
        )}
      </p>
    </div>
  );
}

function say(d: Dot) {
  const wall = d.run.outer_wall_time_ns === null ? "wall time not known" : duration(d.run.outer_wall_time_ns);
  const pair = d.run.pair_id === null ? "" : `, ${short(d.run.pair_id, 40)}`;
  return (
    <>
      run {d.place}, {d.side}
      {pair}: <strong>{wall}</strong>
      {d.apart ? ", stands apart" : ""} <code>{printable(d.run.run_id)}</code>
    </>
  );
}

function described(c: Comparison, runs: number): string {
  const time = (ns: number | null) => (ns === null ? "unknown" : duration(ns));
  const apart = c.design.baseline_outliers.length + c.design.candidate_outliers.length;
  const pairs = c.paired ? " Lines join the runs of a pair." : "";
  return `Wall time of every run: ${runs} runs from left to right in the order in which they started; a circle is a run of the baseline, a diamond one of the candidate. Medians: baseline ${time(c.baseline.median_ns)}, candidate ${time(c.candidate.median_ns)}. Runs that stand apart, ringed: ${apart}.${pairs}`;
}

/** Places below the plot: each where they are few, else round ones. */
function places(runs: number): number[] {
  const step = runs <= 24 ? 1 : Math.max(1, Math.round(niceStep(runs / 12)));
  const all = [1];
  for (let place = step; place <= runs; place += step) if (place > 1 && (step === 1 || place - all.at(-1)! > step / 3)) all.push(place);
  return all;
}

function joined(dots: Dot[]): [Dot, Dot][] {
  const first = new Map<string, Dot>();
  const pairs: [Dot, Dot][] = [];
  for (const dot of dots) {
    const id = dot.run.pair_id;
    if (id === null) continue;
    const other = first.get(id);
    if (other) {
      pairs.push([other, dot]);
      first.delete(id);
    } else first.set(id, dot);
  }
  return pairs;
}

function Medians({ c, end, y }: { c: Comparison; end: number; y: (ns: number) => number }) {
  const called = names(c);
  const sides: [Side, number | null][] = [["baseline", c.baseline.median_ns], ["candidate", c.candidate.median_ns]];
  const lines = sides.flatMap(([side, median]) => (median === null ? [] : [{ side, median, at: y(median), label: y(median) }]));
  lines.sort((a, b) => a.at - b.at);
  const [above, below] = lines;
  if (above && below && below.at - above.at < 34) {
    const middle = (above.at + below.at) / 2;
    [above.label, below.label] = [middle - 17, middle + 17];
  }
  return (
    <>
      {lines.map(({ side, median, at, label }) => (
        <g key={side}>
          <path class={`median ${side === "baseline" ? "a" : "b"}`} d={`M${LEFT} ${at}H${end}`} />
          <Mark side={side} x={end + 14} y={label - 6} size={4.4} />
          <text class="said" x={end + 25} y={label - 1}>
            {duration(median)}
          </text>
          <text x={end + 25} y={label + 13}>{`median ${short(called[side], 18)}`}</text>
        </g>
      ))}
    </>
  );
}

/** Runs that stand apart by their places, each beside its ring where nothing else is. */
function Called({ dots, at, end }: { dots: Dot[]; at: (d: Dot) => { x: number; y: number }; end: number }) {
  const apart = dots.filter((d) => d.apart);
  if (apart.length > CALLED) return null;
  const taken = dots.map((d) => {
    const half = d.apart ? 11 : 6;
    return { from: at(d).x - half, to: at(d).x + half, y: at(d).y };
  });
  return (
    <>
      {apart.map((d) => {
        const { x, y } = at(d);
        const text = `run ${d.place}`;
        const wide = text.length * 7;
        const tries = [[x + 15, y], [x - 15 - wide, y], [x - wide / 2, y - 20], [x - wide / 2, y + 20]] as const;
        const free = tries.find(([from, line]) => from > LEFT && from + wide < end && taken.every((t) => from + wide < t.from || from > t.to || Math.abs(line - t.y) >= 16));
        if (!free) return null;
        taken.push({ from: free[0], to: free[0] + wide, y: free[1] });
        return (
          <text key={d.place} class="called" x={free[0]} y={free[1] + 4}>
            {text}
          </text>
        );
      })}
    </>
  );
}
