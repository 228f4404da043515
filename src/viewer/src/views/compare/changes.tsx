// Where the change lies: labels, operations, memory, gradients, each row with its interval about zero.
// In: the document, words to look for. Out: `Changes`. Left to neighbours: the small intervals (bars.tsx), the table itself
// (ui/data_table.tsx).
// Rows come in the order of the document: what certainly changed most first.

import { useMemo } from "preact/hooks";
import { useRoute } from "../../state/route";
import { parse, select } from "../../state/selection";
import { count, exact } from "../../ui/format";
import { type ColumnSpec, DataTable } from "../../ui/data_table";
import { Panel } from "../../ui/panel";
import { Value } from "../../ui/value";
import { Shared } from "./bars";
import type { Change, Comparison } from "./document";
import { type ChangeList, changeTable } from "./tables";
import { interval, operation, p, percent, shift, show, sides, signed, type Unit, whyNone } from "./words";
import { printable, short } from "../../ui/text";

export type Keep = "all" | "certain" | "alone";

const LISTS: Record<ChangeList, { title: string; about: string; unit: Unit; none: string; what: string }> = {
  labels: {
    title: "Own time by label",
    about: "Host time in a label’s spans outside their child spans, within the measured region.",
    unit: "time",
    none: "No run recorded a label within its measured region.",
    what: "labels",
  },
  operations: {
    title: "Operations",
    about: "Host time of each kind of operation (name, shape, element type) within the measured region.",
    unit: "time",
    none: "No run recorded an operation within its measured region.",
    what: "kinds of operations",
  },
  memory: {
    title: "Memory",
    about: "The peak of logical memory, as far as the programs recorded it.",
    unit: "bytes",
    none: "No run recorded logical memory: nothing is known of it, which is not to say that it is equal.",
    what: "peaks",
  },
  gradients: {
    title: "Gradient norms",
    about: "L2 norm of each gradient. Both implementations should compute the same.",
    unit: "number",
    none: "No run recorded gradients: nothing is known of them.",
    what: "gradients",
  },
};

/** Whether a row's interval lies on one side of zero. */
export function isCertain(change: Change): boolean {
  const b = change.confidence_interval;
  return b !== null && (b.lower_delta > 0 || b.upper_delta < 0);
}

export function isAlone(change: Change): boolean {
  return change.without_interval === "only_in_baseline" || change.without_interval === "only_in_candidate";
}

export function Changes({ c, list, filter, keep }: { c: Comparison; list: ChangeList; filter: string; keep: Keep }) {
  const { title, about, unit, none, what } = LISTS[list];
  const { rows, total } = c[list];
  if (rows.length === 0) {
    return (
      <Panel title={title}>
        <p class="body soft">{none}</p>
      </Panel>
    );
  }
  const [less, more] = sides(unit);
  const shares = rows.some((r) => r.share_of_change !== null);
  const tested = rows.some((r) => r.p !== null);
  const order = tested ? ` What certainly changed most comes first${shares ? "; its share is of the change of the whole" : ""}.` : "";
  const cut = total > rows.length ? ` Showing ${count(rows.length)} of ${count(total)}; the command at the end gives every row.` : "";
  return (
    <Panel title={title} note={`${about}${order}${cut} In the picture: ◂ ${less} left of zero, ${more} ▸ right of it.`}>
      <List {...{ c, list, filter, keep, unit, shares, tested, what }} />
    </Panel>
  );
}

interface ListProps {
  c: Comparison;
  list: ChangeList;
  filter: string;
  keep: Keep;
  unit: Unit;
  shares: boolean;
  tested: boolean;
  what: string;
}

function List({ c, list, filter, keep, unit, shares, tested, what }: ListProps) {
  const [route, go] = useRoute();
  const { rows } = c[list];
  const table = changeTable(c, list);
  const shared = useMemo(() => Shared.of(unit, rows), [rows]);
  const runs: [number, number] = [c.baseline_runs.length, c.candidate_runs.length];
  const columns = useMemo(() => {
    const at = (row: number) => rows[row]!;
    const number = (name: "baseline" | "candidate"): ColumnSpec => ({
      name,
      label: name,
      render: (row) => {
        const x = at(row)[name].median;
        const why = at(row)[name].runs === 0 ? `no run of the ${name} has it` : "recorded, and not known";
        return x === null ? <Value v={null} absent={why} /> : <span title={exact(x, table === null ? "none" : unitOf(unit))}>{show(unit, x)}</span>;
      },
    });
    const small = (name: "p" | "p_holm" | "q_benjamini_hochberg", label: string): ColumnSpec => ({
      name,
      label,
      render: (row) => {
        const x = at(row)[name];
        return x === null ? <Value v={null} absent={whyNone(at(row))} /> : <span title={String(x)}>{p(x)}</span>;
      },
    });
    const specs: ColumnSpec[] = [
      {
        name: list === "operations" ? "operation" : "label",
        render: (row) => {
          const name = list === "operations" ? operation(at(row)) : (at(row).label ?? "");
          return <span title={printable(name)}>{short(name, 44)}</span>;
        },
      },
      number("baseline"),
      number("candidate"),
      {
        name: "shown_change",
        label: "change",
        render: (row) => {
          const x = shift(at(row));
          return x === null ? <Value v={null} absent={whyNone(at(row))} /> : <span title={exact(x, unitOf(unit))}>{signed(unit, x)}</span>;
        },
      },
      {
        name: "median_delta_percent",
        label: "%",
        render: (row) => {
          const x = at(row).median_delta_percent;
          return x === null ? <Value v={null} absent={isAlone(at(row)) ? whyNone(at(row)) : "the baseline’s median is not above zero"} /> : <span title={`${x} %`}>{percent(x)}</span>;
        },
      },
    ];
    if (shares) {
      specs.push({
        name: "share_of_change",
        label: "share",
        render: (row) => {
          const x = at(row).share_of_change;
          return x === null ? <Value v={null} absent={whyNone(at(row))} /> : <span title={String(x)}>{`${Math.round(100 * x) + 0} %`}</span>;
        },
      });
    }
    if (shared) specs.push({ name: "certain_change", label: "certain change", head: shared.head(), align: "left", render: (row) => shared.row(at(row)) });
    if (rows.some((r) => r.without_interval !== "ineligible")) {
      specs.push({
        name: "lower_delta",
        label: "interval",
        align: "right",
        render: (row) => {
          const text = interval(at(row), unit, runs);
          return text === null ? <Value v={null} absent={whyNone(at(row))} /> : <span class={isCertain(at(row)) ? "sure" : "soft"}>{text}</span>;
        },
      });
    }
    if (tested) specs.push(small("p", "p"), small("p_holm", "p (Holm)"), small("q_benjamini_hochberg", "q (BH)"));
    return specs;
  }, [rows]);
  const keeps = useMemo(
    () => (keep === "all" ? undefined : (row: number) => (keep === "certain" ? isCertain(rows[row]!) : isAlone(rows[row]!))),
    [keep, rows],
  );
  const selection = parse(route.sel);
  const selected = selection?.kind === "row" && selection.block === table.name ? selection.row : undefined;
  return (
    <DataTable
      table={table}
      columns={columns}
      label={LISTS[list].title}
      filter={filter}
      keep={keeps}
      selected={selected}
      onSelect={(row) => go({ sel: select.row(table.name, row) })}
      maxRows={25}
      what={what}
    />
  );
}

function unitOf(unit: Unit): string {
  return unit === "time" ? "ns" : unit === "bytes" ? "bytes" : "none";
}
