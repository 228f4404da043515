// What the simultaneous peak of logical memory was made of, and the storages that held it.
// In: blocks peak_composition, peak_storages_ranked. Out: `Composition`, `PeakStorages`. Left to neighbours: the chart.
// The rows of each dimension sum to the peak: dimensions are looked at one at a time.

import { useMemo } from "preact/hooks";
import { useTable } from "../../data/store";
import type { Table } from "../../data/table";
import { href, useRoute } from "../../state/route";
import { select } from "../../state/selection";
import { cssColor, cssMeaning } from "../../ui/colors";
import { percent, plural, showing } from "../../ui/format";
import { DataTable } from "../../ui/data_table";
import { Panel } from "../../ui/panel";
import { printable, short } from "../../ui/text";
import { Text, Value } from "../../ui/value";
import { Ending, STORAGE_COLUMNS } from "./columns";

const DIMENSIONS: [id: string, label: string][] = [
  ["category", "category"],
  ["span", "span"],
  ["op", "operation"],
  ["device", "device"],
];

/** Bars that are drawn; a long tail is a table's work. */
const MOST = 60;

export function Composition() {
  const [route, go] = useRoute();
  const of = useTable("peak_composition");
  const dimension = DIMENSIONS.find(([id]) => id === route.by)?.[0] ?? "category";
  const rows = useMemo(() => (of.table ? rowsOf(of.table, dimension) : []), [of.table, dimension]);
  return (
    <Panel title="What holds the peak" query="peak_composition" of={of} height={460} class="composition">
    <div class="by">
        <div class="segmented" role="group" aria-label="What the peak is divided by">
      {DIMENSIONS.map(([id, label]) => (
        <button key={id} type="button" aria-pressed={dimension === id} onClick={() => go({ by: id === "category" ? undefined : id }, "replace")}>
          {label}
        </button>
      ))}
    </div>
      </div>
      {of.table && <Shares table={of.table} rows={rows} dimension={dimension} />}
      <Biggest />
    </Panel>
  );
}

function rowsOf(table: Table, dimension: string): number[] {
  const rows: number[] = [];
  for (let i = 0; i < table.rows; i++) if (table.cell("dimension", i) === dimension) rows.push(i);
  return rows.sort((a, b) => (table.number("bytes", b) ?? 0) - (table.number("bytes", a) ?? 0));
}

function Shares({ table, rows, dimension }: { table: Table; rows: number[]; dimension: string }) {
  return (
    <>
      <ol class="shares">
        {rows.slice(0, MOST).map((row) => {
          const value = table.string("value", row);
          const share = table.number("share", row);
          const name = nameOf(table, row, dimension);
          const color = dimension === "category" ? cssMeaning(value) : cssColor(name);
          return (
            <li key={row}>
              <span class="name" title={printable(value === null ? name : `${name}${value === name ? "" : ` (${value})`}`)}>
                {dimension === "span" && value !== null ? <a href={href({ sel: select.span(value) })}>{short(name, 44)}</a> : short(name, 44)}
              </span>
              <Value v={table.cell("bytes", row)} unit="bytes" sel={select.row("peak_composition", row)} />
              <span class="part">{share === null ? "" : percent(share)}</span>
              <span class="track" aria-hidden="true">
                <i style={{ width: `${Math.min(1, share ?? 0) * 100}%`, background: value === null ? "var(--c7)" : color }} />
              </span>
              <small class="soft">{plural(table.number("storages", row) ?? 0, "storage")}</small>
            </li>
          );
        })}
      </ol>
      <p class="foot">{rows.length === 1 ? "1 row: the whole peak" : `${showing(Math.min(rows.length, MOST), rows.length)}, which sum to the peak`}</p>
    </>
  );
}

/** The few largest storages: often enough to know what to do. */
function Biggest() {
  const { table } = useTable("peak_storages_ranked");
  if (!table) return null;
  return (
    <>
      <h3>Largest storages then</h3>
      <ol class="biggest">
        {Array.from({ length: Math.min(8, table.rows) }, (_, row) => {
          const shape = table.string("shape", row);
          const by = table.string("op_name", row) ?? table.string("allocation_span_name", row);
          const name = [by, table.string("dtype", row), shape && `[${shape}]`].filter(Boolean).join(" ");
          const share = table.number("share", row);
          const id = table.string("storage_id", row) ?? "";
          const category = table.string("category", row);
          return (
            <li key={row}>
              <i style={{ background: cssMeaning(category) }} title={printable(category ?? "")} aria-hidden="true" />
              <Text text={name || id} most={44} sel={select.storage(id)} />
              <Value v={table.cell("bytes", row)} unit="bytes" />
              <span class="part">{share === null ? "" : percent(share)}</span>
              <span class="visually-hidden">{printable(category ?? "")}</span>
            </li>
          );
        })}
      </ol>
    </>
  );
}

function nameOf(table: Table, row: number, dimension: string): string {
  const value = table.string("value", row);
  if (value === null) return dimension === "op" ? "named no op" : `named no ${dimension}`;
  return dimension === "span" ? (table.string("label", row) ?? value) : value;
}

export function PeakStorages({ selected }: { selected: string | null }) {
  const [, go] = useRoute();
  const of = useTable("peak_storages_ranked");
  const { table } = of;
  return (
    <Panel title="Storages live at the peak" query="peak_storages_ranked" of={of} height={300}>
      {table && (
        <DataTable
          table={table}
          label="Storages live at the peak, largest first"
          what="storages"
          maxRows={10}
          columns={[
            ...STORAGE_COLUMNS,
            { name: "share", label: "of the peak", bar: true, color: (row) => cssMeaning(table.string("category", row)) },
            { name: "age_ns", label: "age then" },
            { name: "ending", render: (row) => <Ending name={table.string("ending", row)} /> },
          ]}
          onSelect={(row) => go({ sel: select.storage(table.string("storage_id", row) ?? "") })}
          selected={selected === null ? undefined : table.find("storage_id", selected)}
        />
      )}
    </Panel>
  );
}
