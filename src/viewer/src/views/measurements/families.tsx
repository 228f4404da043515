// Families of the gradient contract: what each promises, what was recorded, whether it holds and why not.
// In: block gradient_families. Out: `Families`. Left to neighbours: the parameters one by one (gradients.tsx).

import { useTable } from "../../data/store";
import type { Table } from "../../data/table";
import { useRoute } from "../../state/route";
import { parse, select } from "../../state/selection";
import { DataTable } from "../../ui/data_table";
import { Filters, useFilters, useRoom } from "../../ui/filters";
import { count } from "../../ui/format";
import { Level } from "../../ui/level";
import { Panel } from "../../ui/panel";
import { printable, short } from "../../ui/text";
import { Value } from "../../ui/value";
import { STATE_COLORS } from "./gradients";

const MEMBERS = ["present", "zero", "missing", "non_finite", "unrecorded"];

/** Members by state, as a narrow bar with its numbers in the label. */
function Members({ table, row }: { table: Table; row: number }) {
  const all = table.number("members", row) ?? 0;
  const parts = MEMBERS.map((name) => ({ name, n: table.number(name, row) ?? 0 })).filter((p) => p.n > 0);
  const text = parts.map((p) => `${count(p.n)} ${p.name.replace("_", "-")}`).join(", ") || "none";
  return (
    <span class="members">
      <span class="strip" role="img" aria-label={text} title={text}>
        {parts.map((p) => (
          <span key={p.name} style={{ width: `${(p.n / Math.max(1, all)) * 100}%`, background: STATE_COLORS[p.name] }} />
        ))}
      </span>
      {text}
    </span>
  );
}

/** What a rule says, in words. */
function promise(table: Table, row: number): string {
  const least = table.number("min_present", row);
  const of = table.number("members", row);
  switch (table.cell("expectation", row)) {
    case "active":
      return `at least ${count(least ?? 0)} of ${count(of ?? 0)} present`;
    case "inactive":
      return "none present";
    case "data_conditional":
      return `none, or at least ${count(least ?? 0)} of ${count(of ?? 0)} present`;
    default:
      return "nothing";
  }
}

export function Families() {
  const [route, go] = useRoute();
  const of = useTable("gradient_families");
  const facets = ["state", "expectation"];
  const filters = useFilters(of.table, facets);
  const room = useRoom(330);
  const s = parse(route.sel);
  return (
    <Panel
      title="Gradient families"
      query="gradient_families"
      of={of}
      height={room * 27}
      note="What the capture contract promises of each family of parameters, and whether it holds. A parameter recorded twice counts once, in its last state."
      tools={<Filters table={of.table} facets={facets} placeholder="Filter by family, reason" />}
    >
      {of.table && (
        <DataTable
          table={of.table}
          label="Gradient families"
          columns={[
            {
              name: "state",
              render: (row, table) => {
                const verdict = table.string("state", row);
                return verdict ? <Level level={verdict} /> : <Value v={null} absent="nothing was promised" />;
              },
            },
            {
              name: "family",
              render: (row, table) => {
                const family = table.string("family", row);
                if (family !== null) return <span title={printable(family)}>{short(family, 40)}</span>;
                return <span class="soft">in no contract: {short(table.string("root", row) ?? "", 30)}</span>;
              },
            },
            {
              name: "expectation",
              label: "promised",
              render: (row, table) => (
                <span>
                  {table.cell("expectation", row) !== null && (
                    <b class="rule">{printable(table.string("expectation", row)!.replace("_", " "))}</b>
                  )}{" "}
                  {promise(table, row)}
                </span>
              ),
            },
            { name: "present", label: "recorded", align: "left", render: (row, table) => <Members {...{ table, row }} /> },
            { name: "reason", most: 110, absent: "it is not violated" },
            { name: "norm_min", label: "norms from", absent: "none is present" },
            { name: "norm_max", label: "to", absent: "none is present" },
            { name: "norm_l2", label: "L2 together", absent: "none is present" },
          ]}
          filter={filters.filter}
          keep={filters.keep}
          sort={filters.sort ?? undefined}
          onSort={filters.onSort}
          selected={s?.kind === "row" && s.block === "gradient_families" ? s.row : -1}
          onSelect={(row) => go({ sel: select.row("gradient_families", row) })}
          maxRows={room}
          what="families"
        />
      )}
    </Panel>
  );
}
