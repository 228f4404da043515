// What colours, hatching and fading mean.
// In: a plane, whether names decide the colours. Out: a list. Left to neighbours: the colours (palette.ts).

import type { Plane } from "./model";

export function Legend({ plane, byName }: { plane: Plane; byName: boolean }) {
  const named = byName || plane.tones.every((t) => t.label === "");
  return (
    <ul class="tl-legend" aria-label="Legend">
      {named ? (
        <li>colour by name: the same name, the same colour</li>
      ) : (
        plane.tones.map(
          ({ token, label }, i) =>
            (plane.used >> i) & 1 ? (
              <li key={label}>
                <i style={{ background: `var(${token})` }} />
                {label}
              </li>
            ) : null,
        )
      )}
      {plane.tables.op && (
        <li>
          <i class="light" />
          operations are lighter than spans
        </li>
      )}
      {plane.merged > 0 && (
        <li>
          <i class="hatched" />
          several in one mark
        </li>
      )}
      {plane.open > 0 && (
        <li>
          <i class="fading" />
          never closed: its end is not known
        </li>
      )}
      {plane.count > 2000 && <li title="Marks narrower than a pixel share it.">paler columns: less of that time is covered</li>}
    </ul>
  );
}
