// A number on the screen: formatted in its unit, exact in its title, and a link to the row it comes from.
// In: a value, its unit, a selection. Out: `Value`, `Text`. Left to neighbours: the row (ui/details.tsx).
// An absent value is an en dash whose title and label say why.

import type { Cell } from "../data/table";
import { href } from "../state/route";
import { ABSENT, exact, format } from "./format";
import { printable, short } from "./text";

interface Props {
  v: Cell | undefined;
  unit?: string;
  name?: string;
  /** Selection (state/selection.ts) of the row that has it. */
  sel?: string;
  /** Where it leads instead: the address of a list. */
  link?: string;
  /** Why it may be absent. */
  absent?: string;
}

export function Value({ v, unit = "none", name = "", sel, link, absent }: Props) {
  if (v === null || v === undefined) {
    const why = absent ?? "not recorded";
    return (
      <span class="absent" title={why}>
        <span aria-hidden="true">{ABSENT}</span>
        <span class="visually-hidden">absent: {why}</span>
      </span>
    );
  }
  const text = format(v, unit, name);
  const title = exact(v, unit);
  const to = link ?? (sel && href({ sel }));
  if (!to) {
    return (
      <span class="num" title={title}>
        {text}
      </span>
    );
  }
  return (
    <a class="num" href={to} title={link ? `${title}: show the list` : `${title}: show its row`}>
      {text}
    </a>
  );
}

/** A text of the trace: tame, shortened, whole in its title. */
export function Text({ text, most = 64, sel }: { text: string; most?: number; sel?: string }) {
  const shown = short(text, most);
  const title = printable(text);
  if (!sel) {
    return (
      <span class="name" title={title === shown ? undefined : title}>
        {shown}
      </span>
    );
  }
  return (
    <a class="name" href={href({ sel })} title={title}>
      {shown}
    </a>
  );
}
