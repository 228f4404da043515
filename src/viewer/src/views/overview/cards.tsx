// The smaller measures: gradients, values that are not finite, the device, physical memory.
// In: meta; blocks device_busy, gradient_families, first_non_finite. Out: one card each. Left to neighbours: the lists in
// full. A card without evidence says what is missing, and no number.

import type { ComponentChildren } from "preact";
import { absence, store, useTable } from "../../data/store";
import type { Row } from "../../data/types";
import { href } from "../../state/route";
import { select } from "../../state/selection";
import { count, float, percent } from "../../ui/format";
import { Qualified } from "../../ui/level";
import { Panel } from "../../ui/panel";
import { Stack } from "../../ui/stack";
import { printable, short } from "../../ui/text";
import { Value } from "../../ui/value";
import { STATE_COLORS } from "../measurements/gradients";

function Figure({ children, of }: { children: ComponentChildren; of: ComponentChildren }) {
  return (
    <p class="figure small">
      {children}
      <span>{of}</span>
    </p>
  );
}

const number = (row: Row, name: string) => (typeof row[name] === "number" ? (row[name] as number) : null);

export function Gradients() {
  const { gradients, counts } = store.meta.evidence;
  const families = useTable("gradient_families").table;
  const total = counts.gradients ?? 0;
  let holds = 0;
  let violated = 0;
  if (families) {
    for (let i = 0; i < families.rows; i++) {
      const state = families.cell("state", i);
      if (state === "holds") holds += 1;
      if (state === "violated") violated += 1;
    }
  }
  const norms = gradients.states.find((s) => s.state === "present");
  return (
    <Panel title="Gradients" query="gradients">
      <div class="card">
        {total === 0 ? (
          <p class="soft">None was recorded.</p>
        ) : (
          <>
            <Figure of={total === 1 ? "gradient" : "gradients"}>
              <Value v={total} unit="count" link={href({ view: "measurements", tab: "gradients" })} />
            </Figure>
            <Stack
              label="Gradients by state"
              unit="count"
              height={10}
              parts={gradients.states.map((s) => ({
                name: String(s.state).replace("_", "-"),
                value: number(s, "gradients"),
                link: href({ view: "measurements", tab: "gradients", state: String(s.state) }),
                color: STATE_COLORS[String(s.state)] ?? "var(--c7)",
              }))}
            />
            {norms && (
              <p>
                Norms from {float(Number(norms.min_norm))} to {float(Number(norms.max_norm))}.
              </p>
            )}
            {holds + violated > 0 && (
              <p>
                <a href={href({ view: "measurements", tab: "families" })}>
                  {violated > 0 ? (
                    <b class="bad">
                      {violated} of {holds + violated} declared families violated
                    </b>
                  ) : (
                    `All ${holds} declared families hold`
                  )}
                </a>
              </p>
            )}
          </>
        )}
        <Qualified of={gradients.coverage} />
        {total > 0 && <More view="measurements" tab="gradients" text="All gradients" />}
      </div>
    </Panel>
  );
}

function More({ view, tab, text }: { view: string; tab?: string; text: string }) {
  return (
    <p class="more">
      <a href={href({ view, tab })}>{text}</a>
    </p>
  );
}

export function Values() {
  const { counts } = store.meta.evidence;
  const first = useTable("first_non_finite").table;
  const all = counts.tensor_stat_events ?? 0;
  const bad = counts.tensor_stat_non_finite_events ?? 0;
  const label = first && first.rows > 0 ? first.string("label", 0) : null;
  return (
    <Panel title="Values" query="tensor_stats">
      <div class="card">
        {all === 0 ? (
          <p class="soft">No tensor statistic or scalar was recorded: whether values are finite is not known.</p>
        ) : (
          <>
            <Figure of={`of ${count(all)} summaries are not finite`}>
              <span class={bad > 0 ? "bad" : undefined}>
                <Value v={bad} unit="count" link={href({ view: "measurements", tab: "values", state: bad > 0 ? "non_finite" : undefined })} />
              </span>
            </Figure>
            <p>
              {bad > 0 || label ? (
                <>
                  First seen in{" "}
                  <a href={href({ view: "measurements", tab: "values", state: "non_finite" })} title={printable(label ?? "")}>
                    {short(label ?? "a summary", 40)}
                  </a>
                  .
                </>
              ) : (
                "Every recorded summary is finite. Tensors without one may be anything."
              )}
            </p>
            <More view="measurements" tab="values" text="All measurements" />
          </>
        )}
      </div>
    </Panel>
  );
}

export function Device() {
  const { gpu, counts, capabilities } = store.meta.evidence;
  const busy = useTable("device_busy").table;
  const intervals = counts.device_intervals ?? 0;
  const devices = gpu.devices?.rows ?? [];
  const query = devices.length > 0 ? "gpu_busy" : "device_busy";
  return (
    <Panel title={devices.length > 0 ? "GPU" : "Device"} query={query}>
      <div class="card">
        {devices.map((row, i) => (
          <div key={i}>
            <Figure of={`busy, ${printable(String(row.device ?? "a GPU that is not named"))}`}>
              <Value v={number(row, "utilisation")} name="utilisation" sel={select.row("gpu_busy", i)} absent="no window" />
            </Figure>
            <p>
              <Value v={number(row, "busy_ns")} unit="ns" /> of <Value v={number(row, "window_ns")} unit="ns" />, Nsight
              clock; <Value v={number(row, "kernels")} unit="count" /> kernels
            </p>
          </div>
        ))}
        {gpu.outside_share !== null && <p>{percent(gpu.outside_share)} of the GPU time belongs to no label.</p>}
        {busy &&
          Array.from({ length: busy.rows }, (_, i) => (
            <div key={i}>
              <Figure of={`busy, ${printable(busy.string("device", i) ?? "")}`}>
                <Value v={busy.cell("utilisation", i)} name="utilisation" sel={select.row("device_busy", i)} />
              </Figure>
              <p>
                <Value v={busy.cell("busy_ns", i)} unit="ns" /> of <Value v={busy.cell("window_ns", i)} unit="ns" />, clock{" "}
                {short(busy.string("clock_id", i) ?? "", 24)}
              </p>
            </div>
          ))}
        {devices.length === 0 && intervals === 0 && <p class="soft">How busy a device was is not known.</p>}
        <Qualified of={capabilities.nested_device_time} label="Device intervals" />
        <Qualified of={capabilities.gpu_correlation} label="Nsight" />
        {(devices.length > 0 || intervals > 0) && <More view="gpu" text="GPU and device" />}
      </div>
    </Panel>
  );
}

export function PhysicalMemory() {
  const { memory, capabilities } = store.meta.evidence;
  const rows = memory.physical ? memory.physical_by_device.rows : [];
  return (
    <Panel title="Physical memory" query="physical_timeline">
      <div class="card">
        {rows.slice(0, 3).map((row, i) => (
          <div key={i}>
            <Figure of={`most in use, ${printable(String(row.device))}`}>
              <Value v={number(row, "max_used_bytes")} unit="bytes" link={href({ view: "memory" })} absent="never given" />
            </Figure>
            <p>
              <Value v={number(row, "samples")} unit="count" /> checkpoints
              {number(row, "capacity_bytes") !== null && (
                <>
                  {" "}
                  of <Value v={number(row, "capacity_bytes")} unit="bytes" />
                </>
              )}
              {number(row, "max_reserved_bytes") !== null && (
                <>
                  ; reserved <Value v={number(row, "max_reserved_bytes")} unit="bytes" />
                </>
              )}
            </p>
          </div>
        ))}
        {rows.length === 0 && <p class="soft">{absence("physical_timeline") ?? "No checkpoint was recorded."}</p>}
        <Qualified of={capabilities.physical_memory_coverage} />
        {rows.length > 0 && <More view="memory" text="Checkpoints over time" />}
      </div>
    </Panel>
  );
}
