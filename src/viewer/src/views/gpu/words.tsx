// The words of GPU evidence with a sign each, so that no state is told by colour alone.
// In: a state as the tables have it. Out: `Sign`. Left to neighbours: the tables.
// What a word means is in its title, and beside the table that uses it.

import { printable } from "../../ui/text";

type Tone = "good" | "middle" | "bad" | "quiet";
export type Words = Record<string, [sign: string, text: string, tone: Tone, meaning: string]>;

export const REPORT: Words = {
  available: ["●", "available", "good", "supplied and read"],
  unavailable: ["○", "not supplied", "quiet", "its rows are unknown, not zero"],
  failed: ["✕", "failed", "bad", "supplied and not readable"],
  retained: ["▫", "kept, not read", "quiet", "a file beside the reports that no table is made of"],
};

export const ATTRIBUTION: Words = {
  exact: ["●", "exact", "good", "in each of its ranges as many calls were joined as Nsight Systems counts"],
  correlated: ["◐", "correlated", "middle", "joined by correlation id; no projection was read that could confirm it"],
  projected_only: ["○", "projected only", "quiet", "not joined, or not with the count of Nsight Systems: what rests on the join is absent"],
};

export const STATUS: Words = {
  matched: ["✓", "matched", "good", "the contract expects it on the GPU, and it is there"],
  missing_expected: ["✕", "expected, not seen", "bad", "the contract expects it on the GPU, and no GPU work has it"],
  unexpected_cpu_only: ["!", "meant for the CPU, seen", "bad", "the contract keeps it on the CPU, and it has GPU work"],
  unexpected_observed: ["?", "seen, not in the contract", "middle", "it has GPU work, and neither the contract nor the trace knows it"],
  cpu_only: ["○", "CPU only, as meant", "quiet", "the contract keeps it on the CPU, and it has no GPU work"],
  span: ["·", "a span", "quiet", "a span of the trace that the contract does not name: it proves nothing"],
};

export const CAUSE: Words = {
  outside: ["○", "outside", "middle", "its call began in no range with a label of the program"],
  ambiguous: ["?", "ambiguous", "middle", "calls of several threads have its correlation id: nobody can tell which"],
  without_call: ["✕", "without call", "bad", "its correlation id names no call"],
};

export const ROLE: Record<string, string> = {
  gpu_expected: "expected",
  cpu_only: "CPU only",
  none: "not in it",
};

export function Sign({ of, words, reason }: { of: string | null; words: Words; reason?: string | null }) {
  const known = of === null ? undefined : words[of];
  const [sign, text, tone, meaning] = known ?? ["·", of ?? "–", "quiet", ""];
  const title = [meaning, reason].filter(Boolean).join(": ");
  return (
    <span class={`sign ${tone}`} title={title ? printable(title) : undefined}>
      <span aria-hidden="true">{sign}</span> {printable(text)}
    </span>
  );
}

/** What the words of a table mean. */
export function Meanings({ words, used }: { words: Words; used: Iterable<string> }) {
  const shown = new Set(used);
  return (
    <ul class="meanings">
      {Object.keys(words)
        .filter((id) => shown.has(id))
        .map((id) => (
          <li key={id}>
            <Sign of={id} words={words} />
            <span class="soft">: {words[id]![3]}</span>
          </li>
        ))}
    </ul>
  );
}
