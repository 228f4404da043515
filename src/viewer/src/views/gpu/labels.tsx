// Labels against the contract, and GPU work that has no label: what was expected, what was seen, what is left over.
// In: blocks gpu_correlation, gpu_attribution_totals, gpu_attribution_gaps. Out: `Ledger`, `Unlabelled`. Left to
// neighbours: what a label did (phases.tsx).

import { useMemo } from "preact/hooks";
import { useTable } from "../../data/store";
import type { Table } from "../../data/table";
import { useRoute } from "../../state/route";
import { select } from "../../state/selection";
import { count, plural } from "../../ui/format";
import { Panel } from "../../ui/panel";
import { SqlButton } from "../../ui/sql";
import { Stack } from "../../ui/stack";
import { Value } from "../../ui/value";
import { Rows } from "./list";
import { Role } from "./phases";
import { CAUSE, Meanings, Sign, STATUS } from "./words";

export function Ledger() {
  const [route, go] = useRoute();
  const of = useTable("gpu_correlation");
  const { table } = of;
  const status = typeof route.status === "string" && STATUS[route.status] ? route.status : null;
  const counts = useMemo(() => (table ? tally(table) : new Map<string, number>()), [table]);
  const keep = useMemo(() => {
    if (!table || status === null) return undefined;
    const { codes, dictionary } = table.text("status");
    const code = dictionary.indexOf(status);
    return (row: number) => codes[row] === code;
  }, [table, status]);
  return (
    <Panel title="Labels against the contract" query="gpu_correlation" of={of} height={260} class="ledger">
      {table && (
        <>
          <div class="tally" role="group" aria-label="Labels by status">
            {Object.keys(STATUS)
              .filter((id) => counts.has(id))
              .map((id) => (
                <button key={id} type="button" aria-pressed={status === id} onClick={() => go({ status: status === id ? undefined : id }, "replace")} title={STATUS[id]![3]}>
                  <Sign of={id} words={STATUS} /> <b>{count(counts.get(id)!)}</b>
                </button>
              ))}
          </div>
          <Rows
            table={table}
            keep={keep}
            label="Labels that the contract names or GPU work has"
            what="labels"
            maxRows={9}
            columns={[
              { name: "label", most: 42 },
              { name: "status", render: (row) => <Sign of={table.string("status", row)} words={STATUS} /> },
              { name: "role", label: "contract", render: (row) => <Role role={table.string("role", row)} /> },
              { name: "ranges" },
              { name: "duplicate", label: "how often", render: (row) => (table.cell("duplicate", row) === true ? <span class="sign middle">! several</span> : <span class="soft">one</span>) },
            ]}
          />
          <Meanings words={STATUS} used={counts.keys()} />
        </>
      )}
    </Panel>
  );
}

function tally(table: Table): Map<string, number> {
  const counts = new Map<string, number>();
  for (let i = 0; i < table.rows; i++) {
    const status = table.string("status", i) ?? "";
    counts.set(status, (counts.get(status) ?? 0) + 1);
  }
  return counts;
}

export function Unlabelled() {
  const of = useTable("gpu_attribution_totals");
  const gaps = useTable("gpu_attribution_gaps");
  const { table } = of;
  const part = (name: string, column: string, color: string, title: string) => ({
    name,
    value: table!.number(column, 0),
    color,
    title,
    sel: select.row("gpu_attribution_totals", 0),
  });
  return (
    <Panel title="GPU work by label or without" query="gpu_attribution_totals" of={of} height={260} note="The durations of all GPU operations, by what their correlation ids tell. A sum of durations is no busy time.">
      {table && (
        <div class="body">
          <p class="soft">
            <Value v={table.cell("gpu_time_ns", 0)} unit="ns" sel={select.row("gpu_attribution_totals", 0)} /> in {plural(table.number("operations", 0) ?? 0, "operation")}
          </p>
          <Stack
            label="GPU time by attribution"
            unit="ns"
            whole={table.number("gpu_time_ns", 0) ?? 0}
            parts={[
              part("under a label", "attributed_ns", "var(--c2)", "its call began in a range with a label of the program"),
              part("outside", "outside_ns", "var(--c1)", CAUSE.outside![3]),
              part("ambiguous", "ambiguous_ns", "var(--c3)", CAUSE.ambiguous![3]),
              part("without call", "without_call_ns", "var(--c7)", CAUSE.without_call![3]),
            ]}
          />
        </div>
      )}
      {table && gaps.table && (
        <>
          <h3 class="sub">
            Work that belongs to no label <SqlButton query="gpu_attribution_gaps" />
          </h3>
          <Rows
            table={gaps.table}
            label="GPU work that belongs to no label of the program"
            what="rows"
            maxRows={7}
            columns={[
              { name: "name", most: 34 },
              { name: "kind" },
              { name: "cause", render: (row) => <Sign of={gaps.table!.string("cause", row)} words={CAUSE} /> },
              { name: "operations" },
              { name: "total_ns", label: "total" },
              { name: "share_of_gpu_time", label: "of GPU time", bar: true },
            ]}
          />
        </>
      )}
      {table && gaps.state === "unavailable" && <p class="body soft">Every operation was launched under a label.</p>}
    </Panel>
  );
}
