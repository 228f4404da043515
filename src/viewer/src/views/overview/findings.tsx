// What stands out, each with the rows it rests on and where to look; and what cannot be known.
// In: meta.evidence. Out: `Findings`, `Gaps`. Left to neighbours: the rules behind them (src/evidence of the repository).

import { useState } from "preact/hooks";
import { store } from "../../data/store";
import type { Cell } from "../../data/table";
import type { Finding } from "../../data/types";
import { type Change, href } from "../../state/route";
import { select, spanNumber } from "../../state/selection";
import { format, plural, showing } from "../../ui/format";
import { Level } from "../../ui/level";
import { Panel } from "../../ui/panel";
import { SqlButton } from "../../ui/sql";
import { columnLabel, printable, short } from "../../ui/text";
import { Value } from "../../ui/value";

/** Findings that say something is wrong; the others say what is largest. */
const PROBLEMS = new Set(["non_finite_values", "dead_gradient_family"]);

export function Findings() {
  const { rows, total } = store.meta.evidence.findings;
  return (
    <Panel
      title="Findings"
      tools={rows.length < total && <span class="cut">{showing(rows.length, total, "findings")}</span>}
    >
      {rows.length === 0 ? (
        <p class="body soft">Nothing stands out by the rules of this tool. What was not recorded was not looked at: see Gaps.</p>
      ) : (
        <ol class="findings">
          {rows.map((f) => (
            <One key={f.code} finding={f} />
          ))}
        </ol>
      )}
    </Panel>
  );
}

/** Names in a sentence stand between backticks. */
function Sentence({ text }: { text: string }) {
  return (
    <>
      {text.split("`").map((part, i) => (i % 2 === 1 ? <code key={i}>{printable(part)}</code> : printable(part)))}
    </>
  );
}

function One({ finding }: { finding: Finding }) {
  const [open, setOpen] = useState(false);
  const { code, summary, qualification, requires, evidence, next } = finding;
  const problem = PROBLEMS.has(code);
  const source = sourceOf(finding);
  const reasons = requires.map((r) => `${r.replace(/_/g, " ")}: ${store.meta.evidence.capabilities[r]?.reason ?? ""}`);
  return (
    <li class={problem ? "problem" : undefined}>
      <span class="mark" title={problem ? "a problem" : "what is largest"}>
        <span aria-hidden="true">{problem ? "!" : "→"}</span>
        <span class="visually-hidden">{problem ? "Problem: " : "Observation: "}</span>
      </span>
      <div class="what">
        <p>
          <Sentence text={summary} />
        </p>
        <p class="foot">
          <Level level={qualification} reason={reasons.join("; ") || "rests on what the program chose to summarise"} />
          {source && (
            <a href={href(source)}>show {printable(named(finding))}</a>
          )}
          {next && lookAt(next.kind) && <a href={href(lookAt(next.kind)!)}>{printable(next.purpose)}</a>}
          <button type="button" class="link" aria-expanded={open} onClick={() => setOpen(!open)}>
            {open ? "hide" : "show"} its evidence
          </button>
        </p>
        {open && <Evidence finding={finding} />}
      </div>
      <span class="rule">
        <code>{printable(code)}</code>
        <SqlButton query={evidence.query} />
      </span>
    </li>
  );
}

function Evidence({ finding: { evidence } }: { finding: Finding }) {
  const columns = store.info(evidence.query)?.columns ?? [];
  const unit = (name: string) => columns.find((c) => c.name === name)?.unit ?? guessed(name);
  return (
    <>
      {evidence.rows.map((row, i) => (
        <dl class="evidence" key={i}>
          {Object.entries(row).map(([name, value]) => (
            <div key={name}>
              <dt>{columnLabel(name)}</dt>
              <dd>
                {value !== null && typeof value === "object" ? (
                  short(Array.isArray(value) ? value.join(", ") : JSON.stringify(value), 80)
                ) : (
                  <Value v={value as Cell} unit={unit(name)} name={name} />
                )}
              </dd>
            </div>
          ))}
        </dl>
      ))}
    </>
  );
}

/** Unit by name, for a query that has no block in the page: names end in their unit. */
function guessed(name: string): string {
  if (name.endsWith("_ns")) return "ns";
  return name === "bytes" || name.endsWith("_bytes") ? "bytes" : "none";
}

function sourceOf({ source, code }: Finding): Change | null {
  if (/^s\d+$/.test(source)) return { sel: select.span(spanNumber(source)) };
  if (source.startsWith("op:")) return { view: "timings", by: "ops", q: source.slice(3) };
  if (code === "peak_held_by_one_storage") return { sel: select.storage(source) };
  return null;
}

/** What the source is called: an identity says nothing to a reader who has not met it. */
function named({ source, summary }: Finding): string {
  if (source.startsWith("op:")) return source.slice(3);
  if (!/^s\d+$/.test(source)) return source;
  const name = /`([^`]+)`/.exec(summary)?.[1];
  return name ? `${short(name, 40)} (${source})` : `span ${source}`;
}

const LOOK: Record<string, Change> = {
  hotspots: { view: "timings", by: "name" },
  ops: { view: "timings", by: "ops" },
  work: { view: "timings", by: "work" },
  "critical-path": { view: "timings", by: "path" },
  "slowest-host": { view: "timings", by: "spans" },
  "first-non-finite": { view: "measurements", tab: "values", state: "non_finite" },
  "dead-gradients": { view: "measurements", tab: "dead" },
  "gradient-families": { view: "measurements", tab: "families" },
  "tensor-stats": { view: "measurements", tab: "values" },
  memory: { view: "memory" },
};

function lookAt(kind: string): Change | null {
  if (LOOK[kind]) return LOOK[kind];
  if (/^(gpu|device|slowest-device|cuda)/.test(kind)) return { view: "gpu" };
  if (/^memory|lifetimes|peak|storages/.test(kind)) return { view: "memory" };
  return null;
}

export function Gaps() {
  const { gaps, health, deferred } = store.meta.evidence;
  const { issues } = health;
  // What a first look leaves to be asked for, and this page shows.
  const left = deferred.filter((d) => d.kind !== "memory");
  return (
    <div class="pair">
      <Panel title="Gaps" tools={gaps.truncated && <span class="cut">{showing(gaps.displayed, gaps.total, "gaps")}</span>}>
        {gaps.rows.length === 0 ? (
          <p class="body soft">Every plane was recorded.</p>
        ) : (
          <ul class="plain">
            {gaps.rows.map((g) => (
              <li key={g}>{printable(g)}</li>
            ))}
            {left.map((d) => (
              <li key={String(d.part)}>
                {printable(String(d.part))}: not in this page, because the trace is large; ask{" "}
                <code>candle-graph query TRACE --kind {printable(String(d.kind))}</code>
              </li>
            ))}
          </ul>
        )}
      </Panel>
      <Panel
        title="Health"
        tools={
          <span class="cut">
            {plural(health.error_count, "error")}, {plural(health.warning_count, "warning")}
            {issues.truncated && ` · ${showing(issues.displayed, issues.total, "codes")}`}
          </span>
        }
      >
        {issues.rows.length === 0 ? (
          <p class="body soft">Every check passed.</p>
        ) : (
          <ul class="plain">
            {issues.rows.map((i) => (
              <li key={i.code}>
                <span class={`badge ${i.severity === "error" ? "bad" : "warn"}`}>{printable(i.severity)}</span>{" "}
                <code>{printable(i.code)}</code> {i.count > 1 && <b>×{format(i.count, "count")} </b>}
                {printable(i.message)}
                {i.ids.length > 0 && <small class="soft"> {i.ids.map((id) => short(id, 40)).join(", ")}</small>}
              </li>
            ))}
          </ul>
        )}
      </Panel>
    </div>
  );
}
