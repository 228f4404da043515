// Kernels by GPU time: from the timeline of operations, or as Nsight Systems added them up.
// In: blocks gpu_hotspots, gpu_kernel_summary. Out: `Kernels`. Left to neighbours: which label ran them (phases.tsx).
// Two reports may both be there: they are shown one at a time, because they are two accounts of the same work.

import { absence } from "../../data/store";
import { useRoute } from "../../state/route";
import { cssColor } from "../../ui/colors";
import { List } from "./list";

export function Kernels() {
  const [route, go] = useRoute();
  const both = absence("gpu_hotspots") === null && absence("gpu_kernel_summary") === null;
  const summed = both ? route.kern === "sum" : absence("gpu_hotspots") !== null;
  const tools = both && (
    <div class="segmented" role="group" aria-label="Account of the kernels">
      <button type="button" aria-pressed={!summed} onClick={() => go({ kern: undefined }, "replace")}>
        from the timeline
      </button>
      <button type="button" aria-pressed={summed} onClick={() => go({ kern: "sum" }, "replace")}>
        as Nsight added them up
      </button>
    </div>
  );
  const search = (
    <div class="filters">
      <input
        type="search"
        data-search
        placeholder="Search kernels"
        aria-label="Search kernels"
        value={route.q ?? ""}
        onInput={(e) => go({ q: e.currentTarget.value || undefined }, "replace")}
      />
    </div>
  );
  const shared = { filter: route.q ?? "", tools, before: search, maxRows: 12, what: "kernels" };
  if (summed) {
    return (
      <List
        {...shared}
        title="Kernels"
        query="gpu_kernel_summary"
        label="Kernels as Nsight Systems added them up"
        note="Numbers are the report's own; a column that it lacks is absent."
        columns={(table) => [
          { name: "name", label: "kernel", most: 46 },
          { name: "total_ns", label: "total", bar: true, color: (row) => cssColor(table.string("name", row) ?? "") },
          { name: "time_percent", label: "% of report" },
          { name: "instances" },
          { name: "mean_ns", label: "mean" },
          { name: "median_ns", label: "median" },
          { name: "min_ns", label: "shortest" },
          { name: "max_ns", label: "longest" },
          { name: "grid", absent: "not in the report" },
          { name: "block", absent: "not in the report" },
        ]}
      />
    );
  }
  return (
    <List
      {...shared}
      title="Kernels"
      query="gpu_hotspots"
      label="Kernels by the GPU time of all their executions"
      note="Durations are added up whether or not kernels ran side by side: they are no busy time. Kernels inside a graph that is one operation are not shown."
      columns={(table) => [
        { name: "name", label: "kernel", most: 46 },
        { name: "total_ns", label: "total" },
        { name: "share_of_kernel_time", label: "of kernel time", bar: true, color: (row) => cssColor(table.string("name", row) ?? "") },
        { name: "kernels", label: "executions" },
        { name: "mean_ns", label: "mean" },
        { name: "p50_ns", label: "median" },
        { name: "p99_ns", label: "p99" },
        { name: "longest_ns", label: "longest" },
        { name: "launch_shapes", absent: "the report shows no grids and blocks" },
      ]}
    />
  );
}
