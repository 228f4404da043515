// Gradients by parameter, with their norms on one axis; and the parameters without one to learn from.
// In: blocks gradients, dead_gradients. Out: `Gradients`, `Dead`. Left to neighbours: what was promised (families.tsx).

import { useMemo } from "preact/hooks";
import { store, useTable } from "../../data/store";
import type { Table } from "../../data/table";
import { useRoute } from "../../state/route";
import { parse, select } from "../../state/selection";
import { type ColumnSpec, DataTable } from "../../ui/data_table";
import { Filters, useFilters, useRoom } from "../../ui/filters";
import { Level, Qualified } from "../../ui/level";
import { Panel } from "../../ui/panel";
import { Stack } from "../../ui/stack";
import { Value } from "../../ui/value";
import { Dots, logAxis } from "./dots";

export const STATE_COLORS: Record<string, string> = {
  present: "var(--c2)",
  zero: "var(--c6)",
  missing: "var(--c7)",
  unrecorded: "var(--axis)",
  non_finite: "var(--c4)",
};

const state: ColumnSpec = {
  name: "state",
  render: (row: number, table: Table) => <Level level={table.string("state", row) ?? ""} />,
};

export function Gradients() {
  const [route, go] = useRoute();
  const of = useTable("gradients");
  const facets = ["state", "root"];
  const filters = useFilters(of.table, facets);
  const room = useRoom(400);
  const axis = useMemo(() => (of.table ? logAxis([of.table.num("norm").values]) : null), [of.table]);
  const { coverage, states } = store.meta.evidence.gradients;
  const s = parse(route.sel);
  const columns: ColumnSpec[] = [
    { name: "root" },
    { name: "key", most: 64 },
    state,
    {
      name: "norm",
      render: (row, table) => {
        if (table.cell("state", row) === "non_finite") return <b class="bad">not finite</b>;
        return <Value v={table.cell("norm", row)} unit="tensor value" absent="no gradient" />;
      },
    },
    ...(axis
      ? [
          {
            name: "dots",
            label: `norm, ${axis.text}`,
            render: (row: number, table: Table) => (
              <Dots axis={axis} at={table.number("norm", row)} broken={table.cell("state", row) === "non_finite"} />
            ),
          },
        ]
      : []),
  ];
  return (
    <Panel
      title="Gradients"
      query="gradients"
      of={of}
      height={room * 27}
      tools={<Filters table={of.table} facets={facets} placeholder="Filter by parameter" />}
    >
      <div class="claim">
        <Qualified of={coverage} />
        <Stack
          label="Gradients by state"
          unit="count"
          height={10}
          parts={states.map((r) => ({
            name: String(r.state).replace("_", "-"),
            value: Number(r.gradients),
            color: STATE_COLORS[String(r.state)] ?? "var(--c7)",
          }))}
        />
      </div>
      {of.table && (
        <DataTable
          table={of.table}
          label="Gradients"
          columns={columns}
          filter={filters.filter}
          keep={filters.keep}
          sort={filters.sort ?? undefined}
          onSort={filters.onSort}
          selected={s?.kind === "row" && s.block === "gradients" ? s.row : -1}
          onSelect={(row) => go({ sel: select.row("gradients", row) })}
          maxRows={room}
          what="gradients"
        />
      )}
    </Panel>
  );
}

export function Dead() {
  const [route, go] = useRoute();
  const of = useTable("dead_gradients");
  const facets = ["state", "expectation", "family"];
  const filters = useFilters(of.table, facets);
  const room = useRoom(330);
  const s = parse(route.sel);
  return (
    <Panel
      title="Parameters without a gradient"
      query="dead_gradients"
      of={of}
      height={room * 27}
      note="Zero, missing or never recorded; the unexpected first. Whether it may be so is judged by the rule of its family."
      tools={<Filters table={of.table} facets={facets} placeholder="Filter by parameter, family" />}
    >
      {of.table && (
        <DataTable
          table={of.table}
          label="Parameters without a gradient"
          columns={[
            { name: "root" },
            { name: "key", most: 64 },
            state,
            {
              name: "expected",
              render: (row, table) => {
                const expected = table.cell("expected", row);
                if (expected === null) return <Value v={null} absent="no rule" />;
                return expected ? "may be so" : <b class="bad">unexpected</b>;
              },
            },
            { name: "family", absent: "no contract names the parameter" },
            { name: "expectation", absent: "no rule" },
          ]}
          filter={filters.filter}
          keep={filters.keep}
          sort={filters.sort ?? undefined}
          onSort={filters.onSort}
          selected={s?.kind === "row" && s.block === "dead_gradients" ? s.row : -1}
          onSelect={(row) => go({ sel: select.row("dead_gradients", row) })}
          maxRows={room}
          what="parameters"
        />
      )}
    </Panel>
  );
}
