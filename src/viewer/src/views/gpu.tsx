// GPU: which reports there are, how busy each GPU was, kernels, phases, labels, calls; apart from them device intervals.
// In: meta, the blocks of Nsight reports and of device intervals. Out: `View`. Left to neighbours: panels in gpu/.
// Three clocks, never aligned, never added: each part says whose it is. What no report tells is listed once, with why.

import { absence, store } from "../data/store";
import { Busy, Idle } from "./gpu/busy";
import { Api, Launches, MemoryOperations } from "./gpu/calls";
import { Devices } from "./gpu/device";
import { Kernels } from "./gpu/kernels";
import { Ledger, Unlabelled } from "./gpu/labels";
import { Phases } from "./gpu/phases";
import { HowTo, Lead, Missing, Reports } from "./gpu/state";
import "./gpu/gpu.css";

const PARTS: [query: string, title: string][] = [
  ["gpu_busy", "How busy each GPU was"],
  ["gpu_hotspots", "Kernels, from the timeline of operations"],
  ["gpu_kernel_summary", "Kernels, as Nsight Systems added them up"],
  ["gpu_phases", "Phases"],
  ["gpu_correlation", "Labels against the contract"],
  ["gpu_attribution_totals", "GPU work by label or without"],
  ["gpu_launches", "Functions that caused GPU work"],
  ["gpu_memory_operations", "Copies and memsets"],
  ["cuda_api_functions", "CUDA API functions: host time"],
  ["gpu_idle", "Idle times of each GPU"],
];

export function View() {
  const nsight = Object.keys(store.meta.evidence.gpu.reports).length > 0;
  const has = (query: string) => absence(query) === null;
  if (!nsight) {
    return (
      <div class="gpu">
        {has("device_busy") && <Devices />}
        <HowTo />
        {!has("device_busy") && <Devices />}
      </div>
    );
  }
  return (
    <div class="gpu">
      <Lead />
      <div class={has("gpu_busy") ? "pair" : undefined}>
        {has("gpu_busy") && <Busy />}
        <Reports />
      </div>
      {(has("gpu_hotspots") || has("gpu_kernel_summary")) && <Kernels />}
      {has("gpu_phases") && <Phases />}
      <Pair>
        {has("gpu_correlation") && <Ledger />}
        {has("gpu_attribution_totals") && <Unlabelled />}
      </Pair>
      <Pair>
        {has("gpu_launches") && <Launches />}
        {has("gpu_memory_operations") && <MemoryOperations />}
      </Pair>
      {has("gpu_idle") && <Idle />}
      {has("cuda_api_functions") && <Api />}
      <Missing of={PARTS} />
      <Devices />
    </div>
  );
}

/** Two panels beside each other where there are two and room for them. */
function Pair({ children }: { children: (preact.JSX.Element | false)[] }) {
  const there = children.filter((c) => c !== false);
  if (there.length === 0) return null;
  return <div class={there.length > 1 ? "pair" : undefined}>{there}</div>;
}
