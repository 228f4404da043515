// Whether both compute the same: ratios of each summarised tensor, and elements that are not finite.
// In: the document, words to look for. Out: `Values`. Left to neighbours: times (changes.tsx).

import { useMemo } from "preact/hooks";
import { useRoute } from "../../state/route";
import { parse, select } from "../../state/selection";
import { type ColumnSpec, DataTable } from "../../ui/data_table";
import { count } from "../../ui/format";
import { Panel } from "../../ui/panel";
import { printable, short } from "../../ui/text";
import { Value } from "../../ui/value";
import type { Bounded, Comparison } from "./document";
import { valueTable } from "./tables";
import { value } from "./words";

/** Labels that one cohort alone has, and that are named. */
const NAMED = 12;

export function Values({ c, filter }: { c: Comparison; filter: string }) {
  const { rows, total } = c.values;
  if (rows.length === 0 && c.only_a.total + c.only_b.total === 0) {
    return (
      <Panel title="Values">
        <p class="body soft">No run recorded statistics of tensors: whether both compute the same is not known.</p>
      </Panel>
    );
  }
  const cut = total > rows.length ? ` Showing ${count(rows.length)} of ${count(total)}; the command at the end gives every row.` : "";
  return (
    <Panel
      title="Values"
      note={`Whether both compute the same: candidate over baseline, 1 is no change. A label’s summaries are averaged within a run, then the runs are.${cut}`}
    >
      {rows.length > 0 && <List c={c} filter={filter} />}
      <Alone side="baseline" of={c.only_a} />
      <Alone side="candidate" of={c.only_b} />
    </Panel>
  );
}

function List({ c, filter }: { c: Comparison; filter: string }) {
  const [route, go] = useRoute();
  const { rows } = c.values;
  const table = valueTable(c);
  const columns = useMemo(() => {
    const rms = (name: "rms_a" | "rms_b", label: string): ColumnSpec => ({
      name,
      label,
      render: (row) => {
        const x = rows[row]![name];
        return x === null ? <Value v={null} absent="never known, as of tensors with a non-finite element" /> : <span title={String(x)}>{value(x)}</span>;
      },
    });
    const ratio = (name: "rms_ratio" | "abs_max_ratio", label: string): ColumnSpec => ({
      name,
      label,
      render: (row) => {
        const x = rows[row]![name];
        if (x === null) return <Value v={null} absent="not known of both, or the baseline’s is zero" />;
        return (
          <span class={x === 1 ? "soft" : "sure"} title={String(x)}>
            {x.toFixed(4)}
          </span>
        );
      },
    });
    const bad = (name: "non_finite_a" | "non_finite_b", label: string): ColumnSpec => ({
      name,
      label,
      render: (row) => (
        <span class={rows[row]!.non_finite_changed ? "bad" : rows[row]![name] === 0 ? "soft" : undefined}>
          {count(rows[row]![name])}
          {rows[row]!.non_finite_changed && name === "non_finite_b" ? " changed" : ""}
        </span>
      ),
    });
    return [
      { name: "label", render: (row: number) => <span title={printable(rows[row]!.label)}>{short(rows[row]!.label, 56)}</span> },
      rms("rms_a", "rms, baseline"),
      rms("rms_b", "rms, candidate"),
      ratio("rms_ratio", "ratio"),
      ratio("abs_max_ratio", "largest, ratio"),
      bad("non_finite_a", "not finite, baseline"),
      bad("non_finite_b", "not finite, candidate"),
      { name: "runs_a", label: "runs", render: (row: number) => `${count(rows[row]!.runs_a)} / ${count(rows[row]!.runs_b)}` },
    ] satisfies ColumnSpec[];
  }, [rows]);
  const selection = parse(route.sel);
  return (
    <DataTable
      table={table}
      columns={columns}
      label="Values"
      filter={filter}
      selected={selection?.kind === "row" && selection.block === table.name ? selection.row : undefined}
      onSelect={(row) => go({ sel: select.row(table.name, row) })}
      maxRows={25}
      what="labels"
    />
  );
}

function Alone({ side, of }: { side: string; of: Bounded<string> }) {
  if (of.total === 0) return null;
  const named = of.rows.slice(0, NAMED);
  return (
    <p class="body">
      Only in the {side}:{" "}
      {named.map((name, i) => (
        <span key={i}>
          {i > 0 && ", "}
          <code title={printable(name)}>{short(name, 56)}</code>
        </span>
      ))}
      {of.total > named.length && ` and ${count(of.total - named.length)} more`}.
    </p>
  );
}
