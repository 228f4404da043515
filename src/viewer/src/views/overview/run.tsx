// What ran: the facts that tell this capture from others, in the program's words.
// In: meta.run, the provenance. Out: `Run`. Left to neighbours: what was measured.

import type { ComponentChildren } from "preact";
import { store } from "../../data/store";
import { count, duration } from "../../ui/format";
import { printable, short } from "../../ui/text";
import { Value } from "../../ui/value";

function text(value: unknown): string | null {
  if (value === null || value === undefined || value === "") return null;
  if (typeof value === "number") return count(value);
  return printable(typeof value === "object" ? JSON.stringify(value) : String(value));
}

function Fact({ label, children, absent, tags }: { label: string; children?: ComponentChildren; absent?: string; tags?: boolean }) {
  return (
    <div class={tags ? "wide" : undefined}>
      <dt>{label}</dt>
      <dd>{children ?? <Value v={null} absent={absent} />}</dd>
    </div>
  );
}

const TIMING: Record<string, string> = {
  host: "host times",
  synchronized: "host times, device synchronized at every span",
};

export function Run() {
  const { run, evidence } = store.meta;
  const facts = evidence.provenance;
  const of = (name: string) => text(run[name] ?? facts[name]);
  const tags = facts.tags as Record<string, unknown> | null | undefined;
  const warmup = Number(run.warmup_steps ?? facts.warmup_steps ?? 0);
  const synchronized = run.measured_region_device_synchronized ?? facts.measured_region_device_synchronized;
  const started = of("started_at") ?? of("timestamp");
  const ended = run.ended_ns ?? facts.ended_ns;
  const mode = of("timing_mode");
  const host = [of("host_name"), of("cpu_model"), of("logical_cores") && `${of("logical_cores")} cores`].filter(Boolean);
  const built = [of("toolchain")?.replace(/ \(.*\)$/, ""), of("build_profile")].filter(Boolean);
  const versions = [
    of("candle_graph_version") && `candle-graph ${of("candle_graph_version")}`,
    of("candle_version") && `candle ${of("candle_version")}`,
    of("git_revision") && `git ${short(of("git_revision")!, 12)}`,
  ].filter(Boolean);
  const lost = Number(run.events_lost ?? facts.events_lost ?? 0);
  return (
    <section class="panel run" aria-label="What ran">
      <dl>
        <Fact label="Phase">{of("phase")}</Fact>
        <Fact label="Captured step" absent="the program gave none">
          {of("capture_step") && (
            <>
              {of("capture_step")}
              {warmup > 0 && <small> after {count(warmup)} warm-up</small>}
            </>
          )}
        </Fact>
        <Fact label="Device">{of("device")}</Fact>
        <Fact label="Timing">
          {mode && (TIMING[mode] ?? mode)}
          {synchronized !== undefined && (
            <small> region {synchronized ? "synchronized with the device" : "not synchronized"}</small>
          )}
        </Fact>
        <Fact label="Recorded">
          {started && started.replace("T", " ").replace(/\.\d+/, "").replace(/Z$|\+00:00$/, " UTC")}
          {typeof ended === "number" && <small> over {duration(ended)}</small>}
        </Fact>
        <Fact label="Host">{host.length > 0 ? host.join(" · ") : undefined}</Fact>
        <Fact label="Versions">
          {versions.length + built.length > 0 ? (
            <>
              {versions.join(" · ")}
              {built.length > 0 && <small> {built.join(", ")}</small>}
            </>
          ) : undefined}
        </Fact>
        {lost > 0 && <Fact label="Events lost">{count(lost)}</Fact>}
        {tags && Object.keys(tags).length > 0 && (
          <Fact label="Tags" tags>
            {Object.entries(tags).map(([key, value]) => (
              <span class="tag" key={key} title={printable(`${key}: ${value}`)}>
                <b>{short(key, 32)}</b> {short(String(value), 48)}
              </span>
            ))}
          </Fact>
        )}
      </dl>
      <details>
        <summary>Everything recorded of the run</summary>
        <dl class="all">
          {Object.entries({ ...facts, ...run })
            .filter(([key]) => key !== "tags")
            .map(([key, value]) => (
              <div key={key}>
                <dt>{printable(key)}</dt>
                <dd>
                  {value !== null && typeof value === "object" ? (
                    <pre>{JSON.stringify(value, null, 1).split("\n").map(printable).join("\n")}</pre>
                  ) : (
                    (text(value) ?? <Value v={null} />)
                  )}
                </dd>
              </div>
            ))}
        </dl>
      </details>
    </section>
  );
}
