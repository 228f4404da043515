// What colours and bars mean: the steps that occur, and what a bar is a part of.
// In: the spans. Out: `Legend`. Left to neighbours: the colours (ui/colors.ts).

import { cssMeaning } from "../../ui/colors";
import { duration } from "../../ui/format";
import { printable } from "../../ui/text";
import type { Spans } from "./spans";

export function Legend({ spans, bar }: { spans: Spans; bar?: string }) {
  const steps = spans.table.text("step").dictionary.filter((step) => step !== "");
  const region = spans.region();
  return (
    <span class="steps-key">
      {steps.slice(0, 6).map((step) => (
        <span key={step}>
          <i style={{ background: cssMeaning(step) }} aria-hidden="true" />
          {printable(step)}
        </span>
      ))}
      <span>
        <i style={{ background: cssMeaning(null) }} aria-hidden="true" />
        no step
      </span>
      <span class="soft">
        {bar ??
          (region === null
            ? "no measured region: no shares"
            : `bar: part of the measured region (${duration(region)}), solid its own time`)}
      </span>
    </span>
  );
}
