// What caused GPU work and moved memory: launching functions, copies and memsets, the API's own times on the host.
// In: blocks gpu_launches, gpu_memory_operations, cuda_api_functions. Out: `Launches`, `MemoryOperations`, `Api`. Left to
// neighbours: kernels.
// Host time in a call says how long it kept its thread, never how long a GPU worked: the columns say which is which.

import { printable } from "../../ui/text";
import { Value } from "../../ui/value";
import { List } from "./list";

export function Launches() {
  return (
    <List
      title="Functions that caused GPU work"
      query="gpu_launches"
      label="Functions of the CUDA API that caused GPU work"
      what="functions"
      maxRows={8}
      note="GPU time is the sum of the operations' durations; host time is what the calls kept their thread."
      columns={[
        { name: "function", most: 34 },
        { name: "calls" },
        { name: "operations" },
        { name: "gpu_time_ns", label: "GPU time, summed", bar: true },
        { name: "host_ns", label: "host time in calls" },
        { name: "most_operations", label: "most of one call" },
        { name: "graph_calls" },
        { name: "graph_rows", label: "whole graphs" },
      ]}
    />
  );
}

export function MemoryOperations() {
  return (
    <List
      title="Copies and memsets"
      query="gpu_memory_operations"
      label="Copies and memsets on the GPUs by kind and direction"
      what="kinds"
      maxRows={8}
      columns={(table) => [
        { name: "kind" },
        { name: "direction", render: (row) => <Direction of={table.string("direction", row)} /> },
        { name: "operations" },
        { name: "bytes", absent: "the report has no sizes" },
        { name: "bytes_step", label: "sizes to", absent: "the report has no sizes" },
        { name: "total_ns", label: "total" },
        { name: "share", label: "of all these", bar: true, color: () => "var(--c1)" },
      ]}
    />
  );
}

export function Api() {
  return (
    <List
      title="CUDA API functions: host time"
      query="cuda_api_functions"
      label="CUDA API functions by host time, as Nsight Systems added them up"
      what="functions"
      maxRows={8}
      note="How long the calls kept their thread on the host, never how long a GPU worked. Numbers are the report's own."
      columns={[
        { name: "name", label: "function", most: 40 },
        { name: "total_ns", label: "host total", bar: true, color: () => "var(--c7)" },
        { name: "time_percent", label: "% of report" },
        { name: "calls" },
        { name: "mean_ns", label: "mean" },
        { name: "median_ns", label: "median" },
        { name: "min_ns", label: "shortest" },
        { name: "max_ns", label: "longest" },
      ]}
    />
  );
}

/** host_to_device as words. */
export function Direction({ of }: { of: string | null }) {
  return of === null ? <Value v={null} absent="it has none" /> : <span>{printable(of.replaceAll("_", " "))}</span>;
}
