// A short list of names with a number each, and a bar behind it: the few that matter most.
// In: rows. Out: `Bars`. Left to neighbours: which rows, in which order.
// It keeps the height of its rows while they are waited for.

import { percent } from "./format";
import { SqlButton } from "./sql";
import { printable, short } from "./text";
import { Value } from "./value";

export interface BarRow {
  key: string;
  name: string;
  /** What tells it from others of that name. */
  sub?: string;
  value: number | null;
  unit: string;
  /** Part of the whole, 0 to 1. */
  share: number | null;
  color?: string;
  /** Where its name leads, and its number if no row is selected. */
  link?: string;
  sel?: string;
}

interface Props {
  title: string;
  /** Query behind the rows. */
  query?: string;
  rows: BarRow[] | undefined;
  /** Rows to keep room for. */
  room?: number;
  more?: { href: string; text: string };
  empty?: string;
}

export function Bars({ title, query, rows, room = 5, more, empty = "None was recorded." }: Props) {
  return (
    <div class="bars">
      <h3>
        {title}
        {query && <SqlButton query={query} />}
      </h3>
      <ol style={{ minHeight: `${room * 30}px` }} aria-busy={rows === undefined}>
        {rows?.map((r) => (
          <li key={r.key}>
            <i style={{ width: `${Math.min(1, r.share ?? 0) * 100}%`, background: r.color }} aria-hidden="true" />
            <span class="name" title={printable(r.sub ? `${r.name} (${r.sub})` : r.name)}>
              {r.link ? <a href={r.link}>{short(r.name, 40)}</a> : short(r.name, 40)}
              {r.sub && <small>{short(r.sub, 24)}</small>}
            </span>
            <Value v={r.value} unit={r.unit} sel={r.sel} link={r.sel ? undefined : r.link} />
            <span class="part">{r.share === null ? "" : percent(r.share)}</span>
          </li>
        ))}
        {rows?.length === 0 && <li class="soft">{empty}</li>}
      </ol>
      {more && (
        <p class="more">
          <a href={more.href}>{more.text}</a>
        </p>
      )}
    </div>
  );
}
