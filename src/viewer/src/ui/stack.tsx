// One bar that is cut into parts of a whole, with what each part is below it.
// In: named parts. Out: `Stack`. Left to neighbours: where the parts come from, whether they add up.
// A part without a value is listed and not drawn: nothing was recorded, which is not nothing.

import { format, percent } from "./format";
import { printable, short } from "./text";
import { Value } from "./value";

export interface Part {
  name: string;
  value: number | null;
  color: string;
  sel?: string;
  link?: string;
  absent?: string;
  title?: string;
}

interface Props {
  parts: Part[];
  unit: string;
  label: string;
  /** The whole, where it is more than the sum of the parts. */
  whole?: number;
  height?: number;
}

export function Stack({ parts, unit, label, whole, height = 26 }: Props) {
  const sum = whole ?? parts.reduce((n, p) => n + (p.value ?? 0), 0);
  const share = (p: Part) => (p.value !== null && sum > 0 ? p.value / sum : null);
  const spoken = parts.map((p) => `${printable(p.name)} ${format(p.value, unit)}`).join(", ");
  return (
    <div class="stack">
      <div class="strip" role="img" aria-label={`${label}: ${spoken}`} style={{ height: `${height}px` }}>
        {parts.map((p) => {
          const part = share(p);
          if (!part) return null;
          const title = `${printable(p.name)}: ${format(p.value, unit)}, ${percent(part)}`;
          return (
            <span key={p.name} style={{ width: `${part * 100}%`, background: p.color }} title={title}>
              {part > 0.12 && height >= 18 && <b>{short(p.name, 18)}</b>}
            </span>
          );
        })}
      </div>
      <ul class="legend">
        {parts.map((p) => {
          const part = share(p);
          return (
            <li key={p.name} title={p.title && printable(p.title)}>
              <i style={{ background: p.color }} aria-hidden="true" />
              <span class="name">{short(p.name, 28)}</span>
              <Value v={p.value} unit={unit} sel={p.sel} link={p.link} absent={p.absent} />
              <span class="part">{part === null ? "" : percent(part)}</span>
            </li>
          );
        })}
      </ul>
    </div>
  );
}
