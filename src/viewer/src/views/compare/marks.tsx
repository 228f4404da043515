// The marks of both cohorts: a circle and a diamond, so that shape tells them apart where colour does not.
// In: a side, a place. Out: `Mark`, `Key`. Left to neighbours: the pictures.

import type { Side } from "./document";

export function Mark({ side, x, y, size }: { side: Side; x: number; y: number; size: number }) {
  if (side === "baseline") return <circle class="mark a" cx={x} cy={y} r={size} />;
  // A diamond looks as large as a circle when it is a little wider.
  const half = size * 1.25;
  return <path class="mark b" d={`M${x} ${y - half}l${half} ${half}l${-half} ${half}l${-half} ${-half}z`} />;
}

export function Key({ side }: { side: Side }) {
  return (
    <svg class="key" width={14} height={12} viewBox="0 0 14 12" aria-hidden="true">
      <Mark side={side} x={7} y={6} size={4.4} />
    </svg>
  );
}
