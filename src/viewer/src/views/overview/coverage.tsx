// The coverage matrix: for each plane what was declared, what was seen, how far it can be trusted, and why.
// In: meta.coverage. Out: `CoverageMatrix`. Left to neighbours: how levels are derived (src/evidence of the repository).
// Level is a shape and a word before it is a colour.

import { store } from "../../data/store";
import { type Change, href } from "../../state/route";
import { command } from "../../data/origin";
import { Code } from "../../ui/copy";
import { Level } from "../../ui/level";
import { Panel } from "../../ui/panel";
import { printable } from "../../ui/text";
import { Value } from "../../ui/value";

/** Planes in the order of a reader's questions: name, and the view that shows it. */
const PLANES: [plane: string, label: string, at: Change][] = [
  ["structural_trace", "Structure", { view: "timeline" }],
  ["outer_wall_time", "Wall time of the measured region", { view: "timings" }],
  ["nested_host_time", "Host time of spans", { view: "timings" }],
  ["operation_coverage", "Operations", { view: "timings", by: "ops" }],
  ["tensor_coverage", "Tensors", { view: "graph" }],
  ["activation_coverage", "Activations", { view: "memory" }],
  ["gradient_coverage", "Gradients", { view: "measurements", tab: "gradients" }],
  ["logical_memory_coverage", "Logical memory", { view: "memory" }],
  ["physical_memory_coverage", "Physical memory", { view: "memory" }],
  ["nested_device_time", "Device time of spans", { view: "gpu" }],
  ["gpu_correlation", "GPU correlation (Nsight)", { view: "gpu" }],
  ["provenance_binding", "Binding of the Nsight reports", { view: "gpu" }],
];

export function CoverageMatrix() {
  const { coverage } = store.meta;
  const known = new Map(coverage.map((c) => [c.plane, c]));
  const listed = PLANES.filter(([plane]) => known.has(plane));
  const rest = coverage.filter((c) => !PLANES.some(([plane]) => plane === c.plane));
  const rows = [
    ...listed.map(([plane, label, at]) => ({ ...known.get(plane)!, label, at })),
    ...rest.map((c) => ({ ...c, label: c.plane.replace(/_/g, " "), at: null })),
  ];
  const levels = ["complete", "partial", "unavailable", "invalid"];
  const summary = levels
    .map((level) => [rows.filter((r) => r.level === level).length, level] as const)
    .filter(([n]) => n > 0)
    .map(([n, level]) => `${n} ${level}`)
    .join(", ");
  return (
    <Panel title="What can be claimed" tools={<span class="cut">{summary}</span>} class="coverage">
      <div class="scroll" tabIndex={0} role="region" aria-label="Coverage, a table that may scroll">
        <table>
          <thead>
            <tr>
              <th scope="col">Plane</th>
              <th scope="col">Level</th>
              <th scope="col">Declared</th>
              <th scope="col" class="n">
                Observed
              </th>
              <th scope="col">Why</th>
            </tr>
          </thead>
          <tbody>
            {rows.map((r) => (
              <tr key={r.plane} class={r.level}>
                <th scope="row">{r.at ? <a href={href(r.at)}>{printable(r.label)}</a> : printable(r.label)}</th>
                <td>
                  <Level level={r.level} />
                </td>
                <td>
                  {r.declared === null ? <Value v={null} absent="a program declares nothing of it" /> : printable(r.declared)}
                </td>
                <td class="n">
                  <Value v={r.observed} unit="count" absent="not counted" />
                </td>
                <td class="why">
                  {printable(r.reason ?? "")}
                  {r.source && r.source !== "none" && <small> from {printable(r.source)}</small>}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <details class="body">
        <summary>Command</summary>
        <Code text={command("SELECT * FROM coverage ORDER BY plane")} label="command" wrap />
      </details>
    </Panel>
  );
}
