// What GPU evidence there is: the reports, whether they belong to this trace, and the few figures that matter most.
// In: meta.evidence.gpu, capabilities, block gpu_reports. Out: `Lead`, `Reports`, `HowTo`, `Missing`. Left to neighbours:
// the rows behind every figure.

import type { ComponentChildren } from "preact";
import { absence, store, useTable } from "../../data/store";
import { select } from "../../state/selection";
import { Code } from "../../ui/copy";
import { count, percent, plural } from "../../ui/format";
import { Level, Qualified } from "../../ui/level";
import { Empty, Panel } from "../../ui/panel";
import { SqlButton } from "../../ui/sql";
import { printable, short } from "../../ui/text";
import { Text, Value } from "../../ui/value";
import { REPORT, Sign } from "./words";

function Fact({ name, children, more }: { name: string; children: ComponentChildren; more?: ComponentChildren }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd class="amount">{children}</dd>
      <dd class="soft">{more}</dd>
    </div>
  );
}

export function Lead() {
  const { gpu, capabilities } = store.meta.evidence;
  const states = Object.values(gpu.reports);
  const read = states.filter((s) => s === "available").length;
  const binding = gpu.provenance_binding ?? capabilities.provenance_binding?.level ?? null;
  const correlation = capabilities.gpu_correlation;
  const hotspots = useTable("gpu_hotspots").table;
  const outside = absence("gpu_attribution_totals");
  return (
    <Panel title="GPU evidence of Nsight Systems" query="gpu_reports" note="All times in this part are of Nsight's clock, comparable with no host time of this trace and with no device clock.">
      <dl class="facts">
        <Fact name="reports that were read" more={states.length > read ? `${count(states.length - read)} not supplied or not readable` : "every one that can be read"}>
          {count(read)} of {count(states.length)}
        </Fact>
        <Fact name="they belong to this trace" more={<Reason text={capabilities.provenance_binding?.reason} />}>
          {binding === null ? <Value v={null} absent="not known" /> : binding === "bound" ? <span class="level complete">● bound</span> : <Level level={binding} />}
        </Fact>
        <Fact name="labels seen on the GPU" more={<Reason text={correlation?.reason ?? gpu.reason} />}>
          {correlation ? <Level level={correlation.level} reason={correlation.reason} /> : <Value v={null} />}
        </Fact>
        <Fact name="GPU time outside every label" more={outside === null ? "of the durations of all operations" : <Reason text={outside} />}>
          {gpu.outside_share === null || gpu.outside_share === undefined ? <Value v={null} absent={outside ?? "not known"} /> : <span title={String(gpu.outside_share)}>{percent(gpu.outside_share)}</span>}
        </Fact>
        <Fact
          name="kernel with the most GPU time"
          more={
            hotspots && hotspots.rows > 0 ? (
              <>
                <Value v={hotspots.cell("total_ns", 0)} unit="ns" sel={select.row("gpu_hotspots", 0)} />, {percent(hotspots.number("share_of_kernel_time", 0) ?? NaN)} of the durations of all kernels
              </>
            ) : (
              <Reason text={absence("gpu_hotspots")} />
            )
          }
        >
          {hotspots && hotspots.rows > 0 ? <Text text={hotspots.string("name", 0) ?? ""} most={22} sel={select.row("gpu_hotspots", 0)} /> : <Value v={null} absent={absence("gpu_hotspots") ?? "being read"} />}
        </Fact>
      </dl>
    </Panel>
  );
}

function Reason({ text }: { text: string | null | undefined }) {
  return text ? <span title={printable(text)}>{short(text, 230)}</span> : null;
}

export function Reports() {
  const of = useTable("gpu_reports");
  const { table } = of;
  return (
    <Panel title="Reports" query="gpu_reports" of={of} height={300}>
      {table && (
        <ul class="reports">
          {Array.from({ length: table.rows }, (_, row) => {
            const state = table.string("state", row);
            const name = table.string("report", row) ?? table.string("file", row) ?? "";
            const said = [table.string("reason", row), table.string("notes", row)].filter((t): t is string => t !== null && t !== "");
            return (
              <li key={row}>
                <Sign of={state} words={REPORT} />
                <Text text={name} most={40} sel={select.row("gpu_reports", row)} />
                <span class="n">
                  {state === "available" ? plural(table.number("rows", row) ?? 0, "row") : <Value v={null} absent="its rows are unknown, not zero" />}
                </span>
                {said.length > 0 && <small>{printable(said.join("; "))}</small>}
              </li>
            );
          })}
        </ul>
      )}
    </Panel>
  );
}

/** Without reports: why there is nothing, and how to supply them. */
export function HowTo() {
  const { gpu, capabilities } = store.meta.evidence;
  return (
    <Panel title="GPU evidence of Nsight Systems" query="gpu_reports">
      <div class="howto">
        <Empty title="No GPU evidence in this page" reason={gpu.reason} />
        <p>
          What ran on a GPU, Nsight Systems knows. Profile the program, write its reports as CSV into a folder, and name that folder when the page is
          made. Host times of this trace never stand in for them.
        </p>
        <Code text="nsys stats --format csv --output capture/update --report cuda_gpu_trace --report cuda_gpu_kern_sum --report cuda_api_sum --report cuda_gpu_mem_time_sum --report nvtx_gpu_proj_trace --report cuda_api_trace --report nvtx_pushpop_trace capture/update.nsys-rep" label="command that writes the reports" wrap />
        <Code text="candle-graph view TRACE --nsight-dir capture --output trace.html" label="command that makes a page with them" wrap />
        <p class="soft">
          <code>docs/nsight.md</code> of candle-graph has the whole way, from profiling to the manifest that binds reports and trace.
        </p>
        <Qualified of={capabilities.gpu_correlation} label="GPU correlation:" />
      </div>
    </Panel>
  );
}

/** Panels that these reports cannot fill, and which report would. */
export function Missing({ of }: { of: [query: string, title: string][] }) {
  const missing = of.filter(([query]) => absence(query) !== null);
  if (missing.length === 0) return null;
  return (
    <Panel title="What these reports do not tell">
      <ul class="missing">
        {missing.map(([query, title]) => (
          <li key={query}>
            <strong>{title}</strong>
            <span class="soft">{printable(absence(query) ?? "")}</span>
            <SqlButton query={query} />
          </li>
        ))}
      </ul>
    </Panel>
  );
}
