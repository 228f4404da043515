// How far a measure can be trusted: its level as a word and a shape, its reason beside it or in its title.
// In: a capability. Out: `Level`, `Qualified`. Left to neighbours: what the level is of.
// The shape says the same as the colour: full, half, empty, crossed.

import { printable } from "./text";

const SHAPES: Record<string, string> = {
  complete: "●",
  holds: "●",
  present: "●",
  partial: "◐",
  unavailable: "○",
  missing: "○",
  zero: "○",
  unrecorded: "○",
  empty: "○",
  invalid: "✕",
  violated: "✕",
  non_finite: "✕",
};

export function Level({ level, reason }: { level: string; reason?: string | null }) {
  return (
    <span class={`level ${/^[a-z_]+$/.test(level) ? level : ""}`} title={reason ? printable(reason) : undefined}>
      <span aria-hidden="true">{SHAPES[level] ?? "·"}</span> {printable(level)}
    </span>
  );
}

/** The level and its reason in one line, which may be cut: the whole is in the title. */
export function Qualified({ of, label }: { of: { level: string; reason: string | null } | undefined; label?: string }) {
  if (!of) return null;
  return (
    <p class="qualified" title={of.reason ? printable(of.reason) : undefined}>
      {label && <span>{label} </span>}
      <Level level={of.level} /> <span class="why">{of.reason && printable(of.reason)}</span>
    </p>
  );
}
