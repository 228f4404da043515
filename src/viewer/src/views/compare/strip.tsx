// The difference on an axis with zero: the interval, the deltas of pairs, the threshold.
// In: the document. Out: `Strip`. Left to neighbours: the runs (picture.tsx), rows of lists (bars.tsx).

import { axisOf, superscript, timeUnit } from "./axis";
import type { Comparison } from "./document";
import { LEFT, RIGHT } from "./picture";
import { how, percent, signed } from "./words";
import { useWidth } from "./width";

const HIGH = 132;
const BAR = 52;
const PAIRS = 76;
const FOOT = 96;
/** Deltas of pairs that are drawn. */
const DELTAS = 1000;

export function Strip({ c }: { c: Comparison }) {
  const [box, width] = useWidth(620);
  const delta = c.median_delta_ns;
  if (delta === null) return null;
  // In percent of the baseline's median where that is known: what people compare.
  const base = c.baseline.median_ns !== null && c.baseline.median_ns > 0 ? c.baseline.median_ns : null;
  const [scale, name] = base !== null ? [base / 100, "% of the baseline’s median"] : timeUnit(delta);
  const bounds = c.interval ? [c.interval.lower_delta_ns / scale, c.interval.upper_delta_ns / scale] : null;
  const threshold = base !== null ? c.threshold_percent : null;
  const deltas = c.pairs.flatMap((pair) => (typeof pair.delta_ns === "number" ? [pair.delta_ns / scale] : [])).slice(0, DELTAS);
  const numbers = [0, delta / scale, ...(bounds ?? []), ...deltas, ...(threshold === null ? [] : [-threshold, threshold])];
  // Room on both sides of zero, so that both directions have their name.
  const reach = numbers.reduce((most, n) => Math.max(most, Math.abs(n)), 0);
  const axis = axisOf([...numbers, -0.12 * reach, 0.12 * reach], 8);
  const end = width - RIGHT;
  const x = (n: number) => LEFT + (end - LEFT) * axis.place(n);
  const zero = x(0);
  const said = c.median_delta_percent === null ? signed("time", delta) : percent(c.median_delta_percent);
  const level = c.interval ? `${(100 * c.interval.true_level).toFixed(1)} % interval` : "no interval";
  const power = axis.power === 0 ? "" : ` × 10${superscript(axis.power)}`;
  const title = `Difference between the cohorts: ${c.headline}`;
  return (
    <div class="plot" ref={box}>
      <svg width={width} height={HIGH} role="img" aria-label={title}>
        {threshold !== null && (
          <>
            <path class="band" d={`M${x(-threshold)} 26H${x(threshold)}V${FOOT}H${x(-threshold)}z`} />
            <text x={x(threshold) + 6} y={36}>{`threshold ±${threshold} %`}</text>
          </>
        )}
        {axis.ticks.map(({ place, label }) => {
          const at = LEFT + (end - LEFT) * place;
          return (
            <g key={label}>
              <path class="grid" d={`M${at} 38V${FOOT}`} />
              <text class="mid" x={at} y={FOOT + 15}>
                {label}
              </text>
            </g>
          );
        })}
        <path class="axis" d={`M${LEFT} ${FOOT}H${end}`} />
        <path class="zero" d={`M${zero} 20V${FOOT}`} />
        <text class="end" x={zero - 8} y={14}>
          ◂ candidate faster
        </text>
        <text x={zero + 8} y={14}>
          candidate slower ▸
        </text>
        <text class="mid" x={(LEFT + end) / 2} y={HIGH - 3}>{`difference in ${name}${power}`}</text>
        {deltas.map((d, i) => (
          <circle key={i} class="delta" cx={x(d)} cy={PAIRS} r={3.2} />
        ))}
        {deltas.length > 0 && (
          <text x={0} y={PAIRS + 4}>
            pairs
          </text>
        )}
        {bounds && (
          <>
            <path class="whole" d={`M${x(bounds[0]!)} ${BAR}H${x(bounds[1]!)}`} />
            <path class="ends" d={`M${x(bounds[0]!)} ${BAR - 7}v14M${x(bounds[1]!)} ${BAR - 7}v14`} />
          </>
        )}
        <circle class={bounds ? "middle" : "middle hollow"} cx={x(delta / scale)} cy={BAR} r={6} />
        <text class="said" x={end + 14} y={BAR}>
          {said}
        </text>
        <text x={end + 14} y={BAR + 15}>
          {level}
        </text>
      </svg>
      {how(c) && <p class="soft">Interval: {how(c)}.</p>}
    </div>
  );
}
