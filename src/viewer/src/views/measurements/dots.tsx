// A magnitude as a dot on a logarithmic axis that all rows of a table share.
// In: one or two magnitudes a row. Out: `logAxis`, `Dots`. Left to neighbours: the numbers beside it.
// Zero has no place on such an axis and no dot; what is not finite is a cross at its end.

import { float } from "../../ui/format";

export interface LogAxis {
  low: number;
  high: number;
  text: string;
}

/** The axis over all positive values of some columns; null: there is none. */
export function logAxis(columns: (Float64Array | undefined)[]): LogAxis | null {
  let low = Infinity;
  let high = -Infinity;
  for (const values of columns) {
    for (const v of values ?? []) {
      if (!(v > 0) || !Number.isFinite(v)) continue;
      if (v < low) low = v;
      if (v > high) high = v;
    }
  }
  if (low > high) return null;
  const from = Math.floor(Math.log10(low));
  const to = Math.max(from + 1, Math.ceil(Math.log10(high)));
  return { low: from, high: to, text: `1e${from} … 1e${to}, log` };
}

const WIDTH = 150;
const HEIGHT = 16;
const PAD = 6;

interface Props {
  axis: LogAxis;
  at: number | null;
  /** Largest magnitude: a line from the dot to it. */
  to?: number | null;
  broken?: boolean;
}

export function Dots({ axis, at, to = null, broken = false }: Props) {
  const x = (v: number) => PAD + ((Math.log10(v) - axis.low) / (axis.high - axis.low)) * (WIDTH - 2 * PAD);
  const shown = at !== null && at > 0 && Number.isFinite(at);
  const far = to !== null && to > 0 && Number.isFinite(to);
  const label = broken ? "not finite" : at === null ? "absent" : at === 0 ? "zero" : float(at);
  const decades = Array.from({ length: axis.high - axis.low + 1 }, (_, i) => axis.low + i);
  const step = Math.ceil(decades.length / 12);
  return (
    <svg class="dots" width={WIDTH} height={HEIGHT} role="img" aria-label={label}>
      {decades
        .filter((d) => (d - axis.low) % step === 0)
        .map((d) => (
          <line key={d} class="decade" x1={x(10 ** d)} x2={x(10 ** d)} y1={3} y2={HEIGHT - 3} />
        ))}
      {shown && far && <line class="reach" x1={x(at)} x2={x(to)} y1={HEIGHT / 2} y2={HEIGHT / 2} />}
      {shown && far && <line class="end" x1={x(to)} x2={x(to)} y1={4} y2={HEIGHT - 4} />}
      {shown && <circle cx={x(at)} cy={HEIGHT / 2} r={3.5} />}
      {broken && <path class="cross" d={`M${WIDTH - 11} 4l8 8m0 -8l-8 8`} />}
    </svg>
  );
}
