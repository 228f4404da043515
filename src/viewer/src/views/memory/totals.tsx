// Logical memory by device and by category: what was allocated, what was live at most, what stayed.
// In: blocks memory_totals, memory_by_category. Out: `Totals`. Left to neighbours: storages one by one.
// Peaks of devices and categories may lie at different moments: they are listed, never added.

import { useTable } from "../../data/store";
import { useRoute } from "../../state/route";
import { select } from "../../state/selection";
import { cssMeaning } from "../../ui/colors";
import { DataTable } from "../../ui/data_table";
import { Panel } from "../../ui/panel";
import { Category } from "./columns";

export function Totals() {
  const [, go] = useRoute();
  const totals = useTable("memory_totals");
  const categories = useTable("memory_by_category");
  return (
    <div class="pair">
      <Panel title="By device" query="memory_totals" of={totals} height={120} note="A device's own peak; devices may have theirs at different moments.">
        {totals.table && (
          <DataTable
            table={totals.table}
            label="Logical memory by device"
            what="devices"
            maxRows={8}
            columns={[
              { name: "device" },
              { name: "peak_live_bytes", label: "own peak", bar: true },
              { name: "peak_timestamp_ns", label: "at" },
              { name: "total_allocated_bytes", label: "allocated" },
              { name: "storage_allocation_count", label: "allocations" },
              { name: "matched_storage_free_count", label: "frees" },
              { name: "unobserved_end_count", label: "unseen ends" },
              { name: "retained_bytes", label: "stayed" },
            ]}
            onSelect={(row) => go({ sel: select.row("memory_totals", row) })}
          />
        )}
      </Panel>
      <Panel title="By category" query="memory_by_category" of={categories} height={120} note="A category's own peak may lie at another moment than the common one.">
        {categories.table && (
          <DataTable
            table={categories.table}
            label="Logical memory by device and category"
            what="rows"
            maxRows={8}
            columns={[
              { name: "category", render: (row, table) => <Category name={table.string("category", row)} /> },
              { name: "device" },
              {
                name: "live_at_peak_bytes",
                label: "at the peak",
                bar: true,
                color: (row) => cssMeaning(categories.table!.string("category", row)),
              },
              { name: "peak_live_bytes", label: "own peak" },
              { name: "allocated_bytes", label: "allocated" },
              { name: "allocations" },
              { name: "retained_bytes", label: "stayed" },
            ]}
            onSelect={(row) => go({ sel: select.row("memory_by_category", row) })}
          />
        )}
      </Panel>
    </div>
  );
}
