// What is wrong with the capture, said before anything else: failed, interrupted, or not holding together.
// In: meta. Out: `Banner`, nothing where the capture is sound. Left to neighbours: what is known all the same.

import { store } from "../../data/store";
import { count } from "../../ui/format";
import { printable } from "../../ui/text";

const TITLES: Record<string, string> = {
  failed: "The capture failed",
  interrupted: "The capture was interrupted",
};

export function Banner() {
  const { sound, unsound_reason, run, evidence } = store.meta;
  if (sound) return null;
  const outcome = typeof run.outcome === "string" ? run.outcome : "";
  const reason = typeof run.reason === "string" ? run.reason : null;
  const { error_count: errors, issues } = evidence.health;
  const title = TITLES[outcome] ?? "The recording does not hold together";
  // The program's own reason, or one of the errors below, says it already.
  const codes = issues.rows.filter((i) => i.severity === "error").map((i) => i.code);
  const repeated = (reason && unsound_reason?.includes(reason)) || codes.some((c) => unsound_reason?.includes(c));
  const worst = issues.rows.filter((i) => i.severity === "error").slice(0, 3);
  return (
    <section class="banner" aria-label={title}>
      <h2>
        <span aria-hidden="true">!</span> {title}
      </h2>
      {reason && <p class="said">{printable(reason)}</p>}
      <p>
        Shown is what was recorded all the same. What needs a complete and valid capture (times of the measured region,
        their split by step, the critical path) is left empty
        {unsound_reason && !repeated ? <>: {printable(unsound_reason)}</> : ""}.
      </p>
      {worst.length > 0 && (
        <ul>
          {worst.map((i) => (
            <li key={i.code}>
              <code>{printable(i.code)}</code> {printable(i.message)}
              {i.count > 1 && ` (${count(i.count)} times)`}
            </li>
          ))}
        </ul>
      )}
      {errors > worst.length && (
        <p>
          {count(errors)} errors in all: see Health at the end of this view.
        </p>
      )}
    </section>
  );
}
