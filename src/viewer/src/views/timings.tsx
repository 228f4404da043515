// Timings: host time of spans and operations, grouped by name or one by one, and what the region waits for.
// In: blocks host_hotspots, ops, op_work_by_name, spans, timeline_ops, critical_path. Out: `View`. Left to neighbours:
// when each ran (Timeline), device time (GPU): host time is never device time.

import { absence, store, useTable } from "../data/store";
import { useRoute } from "../state/route";
import { Filters, Tabs, useFilters, useRoom } from "../ui/filters";
import { DataTable } from "../ui/data_table";
import { Qualified } from "../ui/level";
import { Panel } from "../ui/panel";
import { CriticalPath, chartHeight } from "./timings/path";
import { type Grouping, groupings } from "./timings/groupings";
import "./timings/timings.css";

export function View() {
  const [route] = useRoute();
  // A capture that is not sound has no times of the region: its spans are what is known.
  const first = absence("host_hotspots") === null ? "name" : "spans";
  const by = groupings.some((g) => g.id === route.by) ? String(route.by) : first;
  const grouping = groupings.find((g) => g.id === by)!;
  return (
    <div class="timings">
      <Tabs
        label="Grouping"
        param="by"
        active={by}
        tabs={groupings.map((g) => ({ id: g.id, label: g.label, title: g.title }))}
      />
      <List key={by} grouping={grouping} />
    </div>
  );
}

function List({ grouping }: { grouping: Grouping }) {
  const [route, go] = useRoute();
  const of = useTable(grouping.block);
  const filters = useFilters(of.table, grouping.facets, grouping.sort ?? null);
  const room = useRoom(330 + (grouping.id === "path" && of.table ? chartHeight(of.table) : 0));
  const selected = of.table && route.sel ? grouping.selected(of.table, route.sel) : -1;
  const capability = store.meta.evidence.capabilities[grouping.capability];
  return (
    <Panel
      title={grouping.title}
      query={grouping.block}
      note={grouping.note}
      of={of}
      height={room * 27}
      tools={<Filters table={of.table} facets={grouping.facets} placeholder={grouping.search} />}
    >
      <div class="claim">
        <Qualified of={capability} />
      </div>
      {grouping.id === "path" && of.table && <CriticalPath table={of.table} />}
      {of.table && (
        <DataTable
          table={of.table}
          label={grouping.title}
          columns={grouping.columns}
          filter={filters.filter}
          keep={filters.keep}
          sort={filters.sort ?? undefined}
          onSort={filters.onSort}
          selected={selected}
          onSelect={(row) => go({ sel: grouping.select(of.table!, row) })}
          maxRows={room}
          what={grouping.what}
        />
      )}
    </Panel>
  );
}
