// What each label of the program did on the GPU, and on opening one the kernels and copies that are its.
// In: blocks gpu_phases, gpu_phase_kernels, gpu_phase_copies. Out: `Phases`. Left to neighbours: labels without GPU work
// (labels.tsx).
// How far a row can be trusted stands beside its name: what rests on a join that does not hold is absent.

import { useMemo } from "preact/hooks";
import { useTable } from "../../data/store";
import type { Table } from "../../data/table";
import { useRoute } from "../../state/route";
import { cssColor } from "../../ui/colors";
import { Panel } from "../../ui/panel";
import { printable, short } from "../../ui/text";
import { Direction } from "./calls";
import { Rows } from "./list";
import { ATTRIBUTION, Meanings, ROLE, Sign } from "./words";

export function Phases() {
  const [route, go] = useRoute();
  const of = useTable("gpu_phases");
  const { table } = of;
  const open = typeof route.phase === "string" ? route.phase : null;
  const unsure = "the attribution is projected only: what rests on the join is not known";
  return (
    <Panel
      title="Phases"
      query="gpu_phases"
      of={of}
      height={220}
      note="A GPU operation is a label's if its API call began in a range of that label on the same thread. Work inside nested labels is each label's, so rows are not to be added; GPU busy counts streams once and each GPU. Open a label for its kernels and copies."
    >
      {table && (
        <>
          <Rows
            table={table}
            label="What each label of the program did on the GPU"
            what="labels"
            maxRows={12}
            columns={[
              {
                name: "label",
                render: (row) => {
                  const name = table.string("label", row) ?? "";
                  return (
                    <button type="button" class="expand" aria-expanded={open === name} onClick={() => go({ phase: open === name ? undefined : name }, "replace")} title={printable(name)}>
                      <span aria-hidden="true">{open === name ? "▾" : "▸"}</span> {short(name, 40)}
                    </button>
                  );
                },
              },
              { name: "attribution", render: (row) => <Sign of={table.string("attribution", row)} words={ATTRIBUTION} reason={table.string("attribution_reason", row)} /> },
              { name: "gpu_busy_ns", label: "GPU busy", bar: true, absent: unsure },
              { name: "kernel_ns", label: "kernels, summed", absent: unsure },
              { name: "kernels", absent: unsure },
              { name: "copy_ns", label: "copies, summed", absent: unsure },
              { name: "exposed_copy_ns", label: "copies alone", absent: unsure },
              { name: "projected_duration_ns", label: "projected", absent: "no projection was read" },
              { name: "busy_share", absent: "busy or projected time is not known" },
              { name: "launch_ns", label: "launch (host)", absent: unsure },
              { name: "ranges" },
              { name: "role", label: "contract", render: (row) => <Role role={table.string("role", row)} /> },
            ]}
          />
          <Doubts table={table} />
          {open !== null && table.find("label", open) >= 0 && <Opened label={open} table={table} />}
        </>
      )}
    </Panel>
  );
}

export function Role({ role }: { role: string | null }) {
  return <span class="soft">{role === null ? "–" : printable(ROLE[role] ?? role)}</span>;
}

/** Why rows are not exact, in full. */
function Doubts({ table }: { table: Table }) {
  const used = table.text("attribution").dictionary;
  const rows = Array.from({ length: table.rows }, (_, i) => i).filter((i) => table.cell("attribution_reason", i) !== null);
  return (
    <>
      <Meanings words={ATTRIBUTION} used={used} />
      {rows.length > 0 && (
        <ul class="reasons">
          {rows.slice(0, 12).map((row) => (
            <li key={row}>
              <strong>{short(table.string("label", row) ?? "", 40)}</strong> <span class="soft">{printable(table.string("attribution_reason", row) ?? "")}</span>
            </li>
          ))}
          {rows.length > 12 && <li class="soft">showing 12 of {rows.length} reasons; the others are in their rows</li>}
        </ul>
      )}
    </>
  );
}

function Opened({ label, table }: { label: string; table: Table }) {
  const attribution = table.string("attribution", table.find("label", label));
  const note = attribution === "projected_only" ? "Its attribution is projected only: some of its operations may be missing here." : undefined;
  return (
    <div class="opened">
      <Part title={`Kernels of ${short(label, 40)}`} query="gpu_phase_kernels" label={label} note={note} columns={KERNELS} what="rows of all labels" />
      <Part title={`Copies and memsets of ${short(label, 40)}`} query="gpu_phase_copies" label={label} note={note} columns={COPIES} what="rows of all labels" />
    </div>
  );
}

type Columns = (table: Table) => Parameters<typeof Rows>[0]["columns"];

const KERNELS: Columns = (table) => [
  { name: "name", label: "kernel", most: 52 },
  { name: "total_ns", label: "total" },
  { name: "share", bar: true, color: (row) => cssColor(table.string("name", row) ?? "") },
  { name: "kernels", label: "executions" },
  { name: "longest_ns", label: "longest" },
];

const COPIES: Columns = (table) => [
  { name: "kind" },
  { name: "direction", render: (row) => <Direction of={table.string("direction", row)} /> },
  { name: "operations" },
  { name: "bytes", absent: "the report has no sizes" },
  { name: "total_ns", label: "total", bar: true },
];

interface PartProps {
  title: string;
  query: string;
  label: string;
  note?: string;
  columns: Columns;
  what: string;
}

function Part({ title, query, label, note, columns, what }: PartProps) {
  const of = useTable(query);
  const { table } = of;
  const keep = useMemo(() => {
    if (!table) return undefined;
    const { codes, dictionary } = table.text("label");
    const code = dictionary.indexOf(label);
    return (row: number) => code >= 0 && codes[row] === code;
  }, [table, label]);
  return (
    <Panel title={title} query={query} of={of} height={120} note={note}>
      {table && <Rows table={table} keep={keep} label={title} what={what} maxRows={8} columns={columns(table)} />}
    </Panel>
  );
}
