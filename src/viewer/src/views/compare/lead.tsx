// The verdict in the words of the document, with what to mind and why there is none.
// In: the document. Out: `Lead`. Left to neighbours: the picture, the numbers.
// What the runs cannot tell stays so: the heading is the document's own.

import { Panel } from "../../ui/panel";
import { duration } from "../../ui/format";
import { printable, short } from "../../ui/text";
import { type Comparison, dotsOf, type Side } from "./document";
import { Key } from "./marks";
import { capital, runsCompared, verdict } from "./words";

/** Cautions and reasons that are listed, and runs that are named. */
const LISTED = 40;

const TONE: Record<string, string> = {
  candidate_faster: "ok",
  candidate_slower: "bad",
  equivalent: "ok",
  inconclusive: "warn",
  ineligible: "bad",
};

const SIGN: Record<string, string> = {
  candidate_faster: "faster",
  candidate_slower: "slower",
  equivalent: "equivalent",
  inconclusive: "inconclusive",
  ineligible: "not comparable",
};

export function Lead({ c }: { c: Comparison }) {
  const [first, rest] = verdict(c);
  const workload = c.identity?.workload_id;
  // Whatever the time says, it is of another computation then.
  const other = c.cautions.some((caution) => caution.code === "non_finite_changed");
  const tone = other ? "bad" : (TONE[c.verdict] ?? "");
  return (
    <section class={`panel lead ${tone}`} aria-labelledby="verdict">
      <div class="body">
        <p class="soft">
          {workload !== undefined && <>{short(String(workload), 80)} · </>}
          {runsCompared(c)}
          {c.verification === "unverified_traces" && " · raw traces, not verified"}
          <span class={`badge ${tone}`}>
            {SIGN[c.verdict] ?? printable(c.verdict)}
            {other && ", and other values"}
          </span>
        </p>
        <h2 id="verdict">{printable(first)}</h2>
        {rest !== "" && <p class="basis">{printable(capital(rest))}</p>}
        <p class="keys">
          <Cohort side="baseline" id={c.baseline_id} />
          <Cohort side="candidate" id={c.candidate_id} />
        </p>
      </div>
    </section>
  );
}

function Cohort({ side, id }: { side: Side; id: string | null }) {
  return (
    <span>
      <Key side={side} /> {side} {id !== null && <code title={printable(id)}>{short(id, 60)}</code>}
    </span>
  );
}

export function Notes({ c }: { c: Comparison }) {
  if (c.cautions.length + c.reasons.length === 0) return null;
  const apart = dotsOf(c).filter((d) => d.apart);
  return (
    <>
      {c.cautions.length > 0 && (
        <Panel title="What to mind">
          <ul class="mind body">
            {c.cautions.slice(0, LISTED).map((caution, i) => (
              <li key={i} class={caution.code === "non_finite_changed" ? "grave" : undefined}>
                {printable(capital(caution.message))}
                {caution.code === "outliers" &&
                  apart.slice(0, LISTED).map((d, n) => (
                    <span key={d.place}>
                      {n === 0 ? ": " : ", "}
                      run {d.place} of the {d.side} (<code>{printable(d.run.run_id)}</code>, {d.run.outer_wall_time_ns === null ? "–" : duration(d.run.outer_wall_time_ns)})
                    </span>
                  ))}
                . <code class="soft">{printable(caution.code)}</code>
              </li>
            ))}
          </ul>
          {c.cautions.length > LISTED && <p class="body soft">Showing {LISTED} of {c.cautions.length}.</p>}
        </Panel>
      )}
      {c.reasons.length > 0 && (
        <Panel title="Why there is no verdict">
          <dl class="reasons body">
            {c.reasons.slice(0, LISTED).map((reason, i) => (
              <div key={i}>
                <dt>
                  <code>{printable(reason.code)}</code>
                </dt>
                <dd>{printable(reason.message)}</dd>
              </div>
            ))}
          </dl>
          {c.reasons.length > LISTED && <p class="body soft">Showing {LISTED} of {c.reasons.length}.</p>}
        </Panel>
      )}
    </>
  );
}
