// The Timings view, until it is drawn.
// In: nothing. Out: `View`. Left to neighbours: everything.

import { DataTable } from "../ui/data_table";
import { Panel } from "../ui/panel";
import { useTable } from "../data/store";
import { store } from "../data/store";

export function View() {
  const name = { overview: "step_split", timings: "spans", measurements: "tensor_stats" }.timings;
  const of = useTable(name);
  const columns = store.info(name)?.columns.map((c) => c.name) ?? [];
  return (
    <Panel title={name} query={name} of={of}>
      {of.table && <DataTable table={of.table} columns={columns} label={name} />}
    </Panel>
  );
}
