// Small intervals in a table: one axis with zero for all rows of a list.
// In: changes, their unit. Out: `Shared`: the axis for the heading, the bar of a row. Left to neighbours: the table.

import { type Axis, axisOf, byteUnit, timeUnit } from "./axis";
import type { Change } from "./document";
import { shift, type Unit } from "./words";

const WIDE = 210;
const HIGH = 18;
const INSET = 8;

export class Shared {
  private readonly axis: Axis;
  private readonly scale: number;
  private readonly unit: string;

  private constructor(axis: Axis, scale: number, unit: string) {
    this.axis = axis;
    this.scale = scale;
    this.unit = unit;
  }

  /** Null if no row has a difference. */
  static of(unit: Unit, changes: Change[]): Shared | null {
    const numbers = changes.flatMap((c) => {
      const b = c.confidence_interval;
      const at = shift(c);
      return [...(b ? [b.lower_delta, b.upper_delta] : []), ...(at === null ? [] : [at])].filter(Number.isFinite);
    });
    const most = numbers.reduce((m, n) => Math.max(m, Math.abs(n)), 0);
    if (most === 0) return null;
    const [scale, name] = unit === "time" ? timeUnit(most) : unit === "bytes" ? byteUnit(most) : [1, ""];
    return new Shared(axisOf([...numbers.map((n) => n / scale), 0], 3), scale, name as string);
  }

  private x(value: number): number {
    return INSET + (WIDE - 2 * INSET) * this.axis.place(value / this.scale);
  }

  /** The ticks, for the heading of the column. */
  head() {
    let last = Number.NEGATIVE_INFINITY;
    const power = this.axis.power === 0 ? "" : `e${this.axis.power}`;
    return (
      <svg class="bars" width={WIDE} height={14} aria-hidden="true">
        {this.axis.ticks.map(({ place, label }) => {
          const at = INSET + (WIDE - 2 * INSET) * place;
          const plain = /^[-0.]*$/.test(label);
          const text = plain ? "0" : `${label}${power} ${this.unit}`.trim();
          const half = text.length * 3;
          if (at - half < last + 6) return null;
          last = at + half;
          return (
            <text key={label} class="mid" x={Math.max(half, Math.min(WIDE - half, at))} y={11}>
              {text}
            </text>
          );
        })}
      </svg>
    );
  }

  /** One row: its interval about its delta, or all of what one cohort alone has. */
  row(change: Change) {
    const zero = this.x(0);
    const half = HIGH / 2;
    const at = shift(change);
    const b = change.confidence_interval;
    const sure = b && (b.lower_delta > 0 || b.upper_delta < 0) ? "sure" : "unsure";
    return (
      <svg class="bars" width={WIDE} height={HIGH} aria-hidden="true">
        <path class="grid" d={this.axis.ticks.map(({ place }) => `M${INSET + (WIDE - 2 * INSET) * place} 0V${HIGH}`).join("")} />
        <path class="zero" d={`M${zero} 0V${HIGH}`} />
        {at !== null && b && (
          <>
            <path class={`bar ${sure}`} d={`M${this.x(b.lower_delta)} ${half}H${this.x(b.upper_delta)}`} />
            <circle class={sure} cx={this.x(at)} cy={half} r={4} />
          </>
        )}
        {at !== null && !b && change.median_delta === null && <path class="alone" d={`M${zero} 5H${this.x(at)}V13H${zero}z`} />}
        {at !== null && !b && change.median_delta !== null && <circle class="middle hollow" cx={this.x(at)} cy={half} r={4} />}
      </svg>
    );
  }
}
