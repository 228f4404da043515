// Scalars and tensor statistics: one summary a row, what is not finite first to be seen.
// In: block tensor_stats. Out: `Values`. Left to neighbours: their states (derive.ts), the axis (dots.tsx).

import { useMemo } from "preact/hooks";
import { store, useTable } from "../../data/store";
import { useRoute } from "../../state/route";
import { parse, select } from "../../state/selection";
import { type ColumnSpec, DataTable } from "../../ui/data_table";
import { Filters, useFilters, useRoom } from "../../ui/filters";
import { float } from "../../ui/format";
import { Level } from "../../ui/level";
import { Panel } from "../../ui/panel";
import { Value } from "../../ui/value";
import { withStates } from "./derive";
import { Dots, logAxis } from "./dots";

const FACETS = ["state", "kind", "dtype"];

/** A magnitude over all elements; where some are not finite, over the rest, and it says so. */
function magnitude(name: string, label: string): ColumnSpec {
  return {
    name,
    label,
    render: (row, table) => {
      const whole = table.number(name, row);
      if (whole !== null) return <span title={String(whole)}>{float(whole)}</span>;
      const rest = table.number(`finite_${name}`, row);
      if (rest === null) return <Value v={null} absent="no finite element" />;
      return (
        <span class="rest" title={`${rest}, over the finite elements alone`}>
          finite: {float(rest)}
        </span>
      );
    },
  };
}

export function Values() {
  const [route, go] = useRoute();
  const of = useTable("tensor_stats");
  const table = useMemo(() => of.table && withStates(of.table), [of.table]);
  const filters = useFilters(table, FACETS);
  const room = useRoom(330);
  const axis = useMemo(
    () => (table ? logAxis(["rms", "abs_max", "finite_rms", "finite_abs_max"].map((c) => table.num(c).values)) : null),
    [table],
  );
  const s = parse(route.sel);
  const columns: ColumnSpec[] = [
    { name: "label", most: 60 },
    { name: "state", render: (row, t) => <Level level={t.string("state", row) ?? ""} /> },
    {
      name: "not_finite",
      label: "NaN, infinite",
      meaning: "elements that are NaN or infinite",
      render: (row, t) => {
        const text = t.string("not_finite", row);
        return text ? <b class="bad">{text}</b> : <span class="soft">none</span>;
      },
    },
    { name: "shape" },
    { name: "dtype" },
    { name: "elements" },
    magnitude("mean", "mean"),
    magnitude("rms", "rms"),
    magnitude("abs_max", "abs max"),
    ...(axis
      ? [
          {
            name: "magnitude",
            label: `rms to abs max, ${axis.text}`,
            meaning: "dot: root mean square; line: to the largest absolute value; a cross: some elements are not finite",
            render: (row: number, t: NonNullable<typeof table>) => (
              <Dots
                axis={axis}
                at={t.number("rms", row) ?? t.number("finite_rms", row)}
                to={t.number("abs_max", row) ?? t.number("finite_abs_max", row)}
                broken={t.cell("not_finite", row) !== null}
              />
            ),
          },
        ]
      : []),
    { name: "span_id", label: "span" },
  ];
  const { counts } = store.meta.evidence;
  return (
    <Panel
      title="Scalars and tensor statistics"
      query="tensor_stats"
      of={of}
      height={room * 27}
      note={
        counts.tensor_stat_events
          ? "What the program chose to summarise, in order of recording. A tensor without a summary may be anything."
          : undefined
      }
      tools={<Filters table={table} facets={FACETS} placeholder="Filter by label, shape, span" />}
    >
      {table && (
        <DataTable
          table={table}
          label="Scalars and tensor statistics"
          columns={columns}
          filter={filters.filter}
          keep={filters.keep}
          sort={filters.sort ?? undefined}
          onSort={filters.onSort}
          selected={s?.kind === "row" && s.block === "tensor_stats" ? s.row : -1}
          onSelect={(row) => go({ sel: select.row("tensor_stats", row) })}
          maxRows={room}
          what="summaries"
        />
      )}
    </Panel>
  );
}
