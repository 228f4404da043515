// The selected row, whole: every column with its meaning, where it comes from, the statement that fetches it.
// In: Route.sel. Out: `Details`, a panel beside every view. Left to neighbours: what a selection is (state/selection.ts),
// where rows come from (data/origin.ts).
// A row that was cut from the page is still named, with the statement that gives it.

import { useEffect, useState } from "preact/hooks";
import { command, originOf, queryCommand } from "../data/origin";
import { absence, store } from "../data/store";
import type { Table } from "../data/table";
import { type Change, href, useRoute } from "../state/route";
import { blocksOf, locate, parse, type Selection, select, spanNumber } from "../state/selection";
import { Code } from "./copy";
import { exact, format, showing } from "./format";
import { SqlButton } from "./sql";
import { columnLabel, printable } from "./text";
import { Value } from "./value";

interface Found {
  table: Table;
  row: number;
}

/** The row of a selection: undefined while it is looked for, null where the page does not have it. */
export function useSelectedRow(sel: string | undefined): Found | null | undefined {
  const [found, setFound] = useState<{ sel: string; at: Found | null }>();
  useEffect(() => {
    const selection = parse(sel);
    if (!sel || !selection) return;
    let current = true;
    (async () => {
      for (const block of blocksOf(selection)) {
        if (absence(block) !== null) continue;
        const table = await store.table(block).catch(() => null);
        const row = table ? locate(selection, table) : -1;
        if (table && row >= 0) return { table, row };
      }
      return null;
    })().then((at) => current && setFound({ sel, at }));
    return () => {
      current = false;
    };
  }, [sel]);
  return found && found.sel === sel ? found.at : undefined;
}

export function Details() {
  const [route, go] = useRoute();
  const selection = parse(route.sel);
  const found = useSelectedRow(route.sel);
  if (!route.sel) return null;
  const close = () => go({ sel: undefined });
  return (
    <aside class="details" aria-label="Selection">
      <header>
        <h2 aria-live="polite">{selection ? titleOf(selection, found) : "Unknown selection"}</h2>
        <button type="button" class="quiet" onClick={close} aria-label="Close the selection" title="Close (Esc)">
          ✕
        </button>
      </header>
      {selection ? (
        <Body selection={selection} found={found} />
      ) : (
        <p class="soft">The address names a selection that this page does not know: {printable(route.sel)}</p>
      )}
    </aside>
  );
}

function titleOf(selection: Selection, found: Found | null | undefined): string {
  if (selection.kind === "storage" || selection.kind === "tensor") return printable(selection.id);
  const name =
    found?.table.string("name", found.row) ??
    found?.table.string("label", found.row) ??
    found?.table.string("key", found.row);
  if (name) return printable(name);
  switch (selection.kind) {
    case "span":
      return `Span s${selection.id}`;
    case "op":
      return `Operation ${selection.index} of span s${selection.span}`;
    case "device":
      return `Device interval ${selection.row}`;
    case "gpu":
      return `GPU operation ${selection.row}`;
    case "row":
      return `${printable(columnLabel(selection.block))}, row ${selection.row + 1}`;
  }
}

const KINDS: Record<Selection["kind"], string> = {
  span: "span, host time",
  op: "operation, host time",
  storage: "storage",
  tensor: "tensor, with the storage that it is in",
  device: "device interval",
  gpu: "GPU operation (Nsight)",
  row: "row of a result",
};

function Body({ selection, found }: { selection: Selection; found: Found | null | undefined }) {
  const origin = originOf(selection, found?.table, found?.row ?? -1);
  const info = found ? store.info(found.table.name) : undefined;
  const query = info?.query ?? null;
  return (
    <>
      <p class="soft kind">
        {KINDS[selection.kind]}
        {found && ` · ${found.table.name}, row ${found.row + 1}`}
        {query && <SqlButton query={query} />}
      </p>
      <Links selection={selection} found={found} />
      {found === undefined && <p class="soft">Looking for it…</p>}
      {found === null && (
        <p class="soft">The page does not hold this row: it was cut or merged, or is not recorded. The statement below asks the trace.</p>
      )}
      {found && <Columns found={found} />}
      <h3>Source</h3>
      {origin ? (
        <>
          <p class="soft wrap">{printable(origin.text)}</p>
          {origin.commands?.map((text) => <Code key={text} text={text} label="command" wrap />) ?? (
            <>
              <Code text={origin.sql} label="statement" wrap />
              <Code text={command(origin.sql, origin.nsight)} label="command" wrap />
            </>
          )}
        </>
      ) : (
        query && <Code text={queryCommand(query)} label="command" wrap />
      )}
    </>
  );
}

function Columns({ found: { table, row } }: { found: Found }) {
  const infos = new Map(store.info(table.name)?.columns.map((c) => [c.name, c]));
  return (
    <dl class="columns">
      {[...table.columns.keys()].map((name) => {
        const info = infos.get(name);
        const unit = info?.unit ?? "none";
        const value = table.cell(name, row);
        const whole = exact(value, unit);
        const said = format(value, unit, name);
        const link = typeof value === "string" ? linkOf(name, value) : null;
        return (
          <div key={name}>
            <dt title={info && `${info.meaning} [${info.unit}]`}>{printable(name)}</dt>
            <dd>
              {value === null ? (
                <Value v={null} absent={info?.meaning} />
              ) : link ? (
                <a href={href({ sel: link })}>{said}</a>
              ) : name === "tensor_ids" ? (
                <Tensors ids={String(value)} />
              ) : (
                <span class={typeof value === "string" ? "wrap" : "num"}>{said}</span>
              )}
              <small>
                {typeof value === "number" || typeof value === "bigint" ? (whole === said ? "" : `${whole} · `) : ""}
                {info && printable(info.meaning)}
              </small>
            </dd>
          </div>
        );
      })}
    </dl>
  );
}

const TENSORS = 12;

function Tensors({ ids }: { ids: string }) {
  const all = ids.split(", ").filter(Boolean);
  return (
    <span class="wrap">
      {all.slice(0, TENSORS).map((id, i) => (
        <span key={id}>
          {i > 0 && ", "}
          <a href={href({ sel: select.tensor(id) })}>{printable(id)}</a>
        </span>
      ))}
      {all.length > TENSORS && ` (${showing(TENSORS, all.length, "tensors")})`}
    </span>
  );
}

/** Selection that an identity in a column leads to. */
function linkOf(column: string, value: string): string | null {
  if (/(^|_)(span_id|parent_id)$/.test(column) || column === "id") {
    return Number.isNaN(spanNumber(value)) ? null : select.span(value);
  }
  if (column === "storage_id") return select.storage(value);
  if (/(^|_)tensor(_id)?$/.test(column)) return select.tensor(value);
  return null;
}

function Links({ selection, found }: { selection: Selection; found: Found | null | undefined }) {
  const cell = (name: string) => (found ? found.table.string(name, found.row) : null);
  const span =
    selection.kind === "span"
      ? `s${selection.id}`
      : selection.kind === "op"
        ? `s${selection.span}`
        : (cell("span_id") ?? cell("allocation_span_id") ?? (found?.table.has("host_total_time_ns") ? cell("id") : null));
  const self = select;
  const links: [string, string][] = [];
  const own = selection.kind === "op" || selection.kind === "device" || selection.kind === "gpu";
  const here = own && found ? selText(selection) : span ? self.span(span) : undefined;
  if (here) links.push(["Timeline", href({ view: "timeline", sel: here })]);
  if (span) links.push(["Graph", href({ view: "graph", sel: self.span(span) })]);
  const name = cell("name");
  if (name && (selection.kind === "span" || selection.kind === "op")) {
    links.push(["Timings", href({ view: "timings", by: selection.kind === "op" ? "ops" : "name", q: name })]);
  }
  const storage = selection.kind === "storage" ? selection.id : cell("storage_id");
  if (storage) links.push(["Memory", href({ view: "memory", sel: self.storage(storage) })]);
  const list = selection.kind === "gpu" ? "timeline_gpu" : selection.kind === "row" ? selection.block : "";
  const at = listOf(list);
  if (at && !links.some(([label]) => label === at[0])) links.push([at[0], href(at[1])]);
  if (links.length === 0) return null;
  return (
    <p class="links">
      Show in{" "}
      {links.map(([label, to], i) => (
        <span key={label}>
          {i > 0 && " · "}
          <a href={to}>{label}</a>
        </span>
      ))}
    </p>
  );
}

/** The view that has the list that a row is of. */
function listOf(block: string): [string, Change] | null {
  if (/^(memory_|peak_|lifetimes|retained_|physical_)/.test(block)) return ["Memory", { view: "memory" }];
  if (/^(gpu_|cuda_|device_|slowest_device|timeline_gpu)/.test(block)) return ["GPU", { view: "gpu" }];
  const tab = { tensor_stats: "values", first_non_finite: "values", gradients: "gradients", dead_gradients: "dead", gradient_families: "families" }[block];
  if (tab) return ["Measurements", { view: "measurements", tab }];
  const by = { host_hotspots: "name", ops: "ops", op_work_by_name: "work", step_split: "path" }[block];
  return by ? ["Timings", { view: "timings", by }] : null;
}

function selText(selection: Selection): string | undefined {
  if (selection.kind === "op") return select.op(selection.span, selection.index);
  if (selection.kind === "device") return select.device(selection.row);
  if (selection.kind === "gpu") return select.gpu(selection.row);
  return undefined;
}
