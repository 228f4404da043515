// What a careful reader asks next: cohorts in numbers, conditions, order of the runs, second opinions, runs needed.
// In: the document. Out: one panel each. Left to neighbours: the change row by row (changes.tsx), the runs (runs.tsx).

import type { ComponentChildren } from "preact";
import { count, duration } from "../../ui/format";
import { Panel } from "../../ui/panel";
import { printable } from "../../ui/text";
import { Value } from "../../ui/value";
import type { Cohort, Comparison, Side } from "./document";
import { Key } from "./marks";
import { drift, opinions, runsWord } from "./words";

/** Letters of the sequence, and machines. */
const LETTERS = 400;
const HOSTS = 20;

function Facts({ of }: { of: [string, ComponentChildren][] }) {
  return (
    <dl class="facts">
      {of.map(([name, said]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{said}</dd>
        </div>
      ))}
    </dl>
  );
}

function Simple({ label, head, rows }: { label: string; head: string[]; rows: ComponentChildren[][] }) {
  const numeric = head.map((h) => h.endsWith("#"));
  return (
    <div class="simple">
      <table aria-label={label}>
        <thead>
          <tr>
            {head.map((h, i) => (
              <th key={h} scope="col" class={numeric[i] ? "n" : undefined}>
                {h.replace(/#$/, "")}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, r) => (
            <tr key={r}>
              {row.map((cell, i) =>
                i === 0 ? (
                  <th key={i} scope="row">
                    {cell}
                  </th>
                ) : (
                  <td key={i} class={numeric[i] ? "n" : undefined}>
                    {cell}
                  </td>
                ),
              )}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

export function Cohorts({ c }: { c: Comparison }) {
  const row = (side: Side, id: string | null, of: Cohort): ComponentChildren[] => {
    const time = (ns: number | null, why: string) => <Value v={ns} unit="ns" absent={why} />;
    return [
      <>
        <Key side={side} /> {side}
        {id !== null && <code> {printable(id)}</code>}
      </>,
      count(of.samples_ns.length),
      time(of.median_ns, "no run has a known wall time"),
      time(of.p95_ns, "no run has a known wall time"),
      time(of.mad_ns, "no run has a known wall time"),
    ];
  };
  const i = c.identity;
  const named: [string, string][] = [
    ["workload", "workload_id"],
    ["model", "model_id"],
    ["configuration", "config_id"],
    ["data", "data_id"],
    ["seeds", "seed_policy"],
    ["batch", "physical_batch"],
    ["accumulation", "accumulation_steps"],
    ["precision", "precision"],
    ["device", "device_state"],
  ];
  const facts = named.flatMap(([name, key]): [string, ComponentChildren][] => {
    const said = i?.[key];
    return said === undefined || said === null ? [] : [[name, typeof said === "number" ? count(said) : printable(String(said))]];
  });
  return (
    <Panel title="Wall time of the measured region" note="One sample is one run of the program, a process of its own.">
      <Simple
        label="Cohorts"
        head={["cohort", "runs#", "median#", "p95#", "median absolute deviation#"]}
        rows={[row("baseline", c.baseline_id, c.baseline), row("candidate", c.candidate_id, c.candidate)]}
      />
      {facts.length > 0 ? <Facts of={facts} /> : <p class="body soft">No run declares the conditions it ran under.</p>}
    </Panel>
  );
}

export function Order({ c }: { c: Comparison }) {
  const d = c.design;
  const letters = [...d.sequence];
  const stretches: string[] = [];
  for (const letter of letters.slice(0, LETTERS)) {
    if (stretches.at(-1)?.[0] === letter) stretches[stretches.length - 1] += letter;
    else stretches.push(letter);
  }
  const apart = d.baseline_outliers.length + d.candidate_outliers.length;
  const facts: [string, ComponentChildren][] = [["A is the baseline, B the candidate", d.order ?? "unknown"]];
  if (d.stretches !== null && d.p_so_few_stretches !== null) {
    facts.push(["stretches of one cohort", `${count(d.stretches)} (so few by chance: p = ${d.p_so_few_stretches.toFixed(3)})`]);
  }
  if (d.place_gap !== null) facts.push(["mean place, candidate less baseline", `${d.place_gap < 0 ? "-" : "+"}${Math.abs(d.place_gap).toFixed(2)} runs`]);
  facts.push(["drift", drift(c)]);
  if (d.spread_ratio !== null) facts.push(["spread, candidate over baseline", d.spread_ratio.toFixed(2)]);
  facts.push(["runs that stand apart", apart === 0 ? "none" : count(apart)]);
  const name = (text: string | null) => (text === null ? <Value v={null} absent="not recorded" /> : printable(text));
  return (
    <Panel title="Order of the runs" note="Evidence too: what drifts while one cohort runs after the other looks like a difference.">
      <p class="sequence body" aria-label={`Order of the cohorts: ${stretches.join(" ")}`}>
        {stretches.map((s, i) => (
          <span key={i} class={s.startsWith("A") ? "a" : "b"}>
            {s}
          </span>
        ))}
        {letters.length > LETTERS && ` showing ${count(LETTERS)} of ${count(letters.length)}`}
      </p>
      <Facts of={facts} />
      <Simple
        label="Machines"
        head={["machine", "processor", "baseline runs#", "candidate runs#"]}
        rows={d.hosts.slice(0, HOSTS).map((h) => [name(h.host_name), name(h.cpu_model), count(h.baseline_runs), count(h.candidate_runs)])}
      />
      {d.hosts.length > HOSTS && (
        <p class="body soft">
          Showing {HOSTS} of {count(d.hosts.length)} machines.
        </p>
      )}
    </Panel>
  );
}

export function Opinions({ c }: { c: Comparison }) {
  const all = opinions(c);
  return (
    <Panel title="Second opinions" note="The interval decides; none of these does.">
      {all.length === 0 ? (
        <p class="body soft">The cohorts may not be compared: no test was made.</p>
      ) : (
        <Simple label="Second opinions" head={["test", "p#", "computed", "with"]} rows={all.map((o) => [o.test, <span title={String(o.p)}>{o.p < 0.00005 ? "<0.0001" : o.p.toFixed(4)}</span>, o.computed, o.with])} />
      )}
    </Panel>
  );
}

export function Needed({ c }: { c: Comparison }) {
  const s = c.sensitivity;
  if (!s) {
    return (
      <Panel title="Runs needed">
        <p class="body soft">The cohorts may not be compared: what it would take is not known.</p>
      </Panel>
    );
  }
  const least = s.smallest_change_percent === null ? duration(s.smallest_change_ns) : `${s.smallest_change_percent.toFixed(1)} %`;
  return (
    <Panel
      title="Runs needed"
      note={`A change smaller than ${least} would have been inconclusive here. With the spread seen here, so many ${runsWord(c)} show a change four times in five.`}
    >
      <Simple
        label="Runs needed"
        head={["change", ...s.runs_needed.map((n) => `${n.effect_percent} %#`)]}
        rows={[[runsWord(c), ...s.runs_needed.map((n) => (n.runs === null ? "over a million" : count(n.runs)))]]}
      />
    </Panel>
  );
}

