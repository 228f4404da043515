// The life of each storage: a table with a bar on the chart's axis of time, and what stayed to the end.
// In: blocks lifetimes, retained_storages; the window of the chart. Out: `Lifetimes`, `Retained`. Left to neighbours: the
// chart (live.tsx), the row in full (ui/details.tsx).
// What was not seen to end has no end: its bar runs out of the window, and its length is absent.

import { useMemo } from "preact/hooks";
import { useTable } from "../../data/store";
import type { Table } from "../../data/table";
import { useRoute } from "../../state/route";
import { select } from "../../state/selection";
import { cssMeaning } from "../../ui/colors";
import { DataTable } from "../../ui/data_table";
import { Empty, Panel } from "../../ui/panel";
import { printable } from "../../ui/text";
import { moment } from "./axis";
import { Ending, ENDINGS, STORAGE_COLUMNS } from "./columns";
import type { Peak } from "./live";
import type { Span } from "./window";

interface Props {
  window: Span;
  peak: Peak | null;
  selected: string | null;
}

export function Lifetimes({ window, peak, selected }: Props) {
  const [route, go] = useRoute();
  const of = useTable("lifetimes");
  const { table } = of;
  const ending = ENDINGS.some(([id]) => id === route.end) ? String(route.end) : null;
  const category = typeof route.cat === "string" ? route.cat : null;
  const pin = route.at === undefined ? undefined : Number(route.at);
  const when = route.live === "peak" && peak ? peak.at : route.live === "held" && pin !== undefined ? pin : null;
  const inWindow = route.live === "window";
  const keep = useMemo(() => (table ? keeper(table, ending, category, when, inWindow ? window : null) : undefined), [table, ending, category, when, inWindow, inWindow && window[0], inWindow && window[1]]);
  const categories = useMemo(() => (table ? [...new Set(table.text("category").dictionary)].sort() : []), [table]);
  return (
    <Panel title="Lifetimes" query="lifetimes" of={of} height={560} note="From allocation to end, on the time axis of the chart above; its window applies here too. The dashed line is the peak.">
      {table && (
        <>
          <div class="filters">
            <input
              type="search"
              data-search
              placeholder="Search storages"
              aria-label="Search storages"
              value={route.q ?? ""}
              onInput={(e) => go({ q: e.currentTarget.value || undefined }, "replace")}
            />
            <select aria-label="Category" value={category ?? ""} onChange={(e) => go({ cat: e.currentTarget.value || undefined }, "replace")}>
              <option value="">every category</option>
              {categories.map((name) => (
                <option key={name} value={name}>
                  {printable(name)}
                </option>
              ))}
            </select>
            <div class="segmented" role="group" aria-label="Ending">
              <button type="button" aria-pressed={ending === null} onClick={() => go({ end: undefined }, "replace")}>
                any ending
              </button>
              {ENDINGS.map(([id, sign, meaning]) => (
                <button key={id} type="button" aria-pressed={ending === id} title={meaning} onClick={() => go({ end: id }, "replace")}>
                  <span aria-hidden="true">{sign}</span> {id.replace("_", " ")}
                </button>
              ))}
            </div>
            <select aria-label="Live when" value={String(route.live ?? "")} onChange={(e) => go({ live: e.currentTarget.value || undefined }, "replace")}>
              <option value="">live at any time</option>
              <option value="window">live in the window</option>
              {peak && <option value="peak">live at the peak</option>}
              {pin !== undefined && <option value="held">live at the held moment</option>}
            </select>
          </div>
          <DataTable
            table={table}
            label="Lifetimes of storages, largest first"
            what="storages"
            filter={route.q ?? ""}
            keep={keep}
            maxRows={16}
            columns={[
              ...STORAGE_COLUMNS,
              {
                name: "start_timestamp_ns",
                label: `life, ${moment(window[0], window[1] - window[0])} to ${moment(window[1], window[1] - window[0])}`,
                align: "left",
                render: (row) => <Life table={table} row={row} window={window} peak={peak} />,
              },
              { name: "live_ns", label: "length", absent: "never seen to end" },
              { name: "ending", render: (row) => <Ending name={table.string("ending", row)} /> },
              { name: "storage_id", label: "storage", most: 30 },
            ]}
            onSelect={(row) => go({ sel: select.storage(table.string("storage_id", row) ?? "") })}
            selected={selected === null ? undefined : table.find("storage_id", selected)}
          />
          <p class="explain soft">
            {ENDINGS.map(([id, sign, meaning]) => (
              <span key={id}>
                <span aria-hidden="true">{sign}</span> <strong>{id.replace("_", " ")}</strong>: {meaning}
              </span>
            ))}
          </p>
        </>
      )}
    </Panel>
  );
}

/** Which storages are looked for: by ending, by category, live at a moment, live in a window. */
function keeper(table: Table, ending: string | null, category: string | null, when: number | null, window: Span | null) {
  if (ending === null && category === null && when === null && window === null) return undefined;
  const endings = table.text("ending");
  const categories = table.text("category");
  const endingCode = ending === null ? -2 : endings.dictionary.indexOf(ending);
  const categoryCode = category === null ? -2 : categories.dictionary.indexOf(category);
  const starts = table.num("start_timestamp_ns").values;
  const ends = table.num("end_timestamp_ns");
  const endOf = (row: number) => (ends.nulls?.[row] ? Infinity : ends.values[row]!);
  return (row: number) => {
    if (endingCode !== -2 && endings.codes[row] !== endingCode) return false;
    if (categoryCode !== -2 && categories.codes[row] !== categoryCode) return false;
    if (when !== null && !(starts[row]! <= when && endOf(row) > when)) return false;
    return window === null || (starts[row]! < window[1] && endOf(row) > window[0]);
  };
}

interface Bar {
  table: Table;
  row: number;
  window: Span;
  peak: Peak | null;
}

function Life({ table, row, window, peak }: Bar) {
  const width = window[1] - window[0];
  const start = table.number("start_timestamp_ns", row) ?? 0;
  const end = table.number("end_timestamp_ns", row);
  const place = (ns: number) => Math.max(0, Math.min(1, (ns - window[0]) / width));
  const left = place(start);
  const right = end === null ? 1 : place(end);
  const outside = start > window[1] || (end !== null && end < window[0]);
  const title = `${moment(start, width)} to ${end === null ? "the end, never seen to end" : moment(end, width)}`;
  return (
    <span class="life" title={title}>
      <span class="visually-hidden">{title}</span>
      {outside ? (
        <small aria-hidden="true">{start > window[1] ? "later ▸" : "◂ earlier"}</small>
      ) : (
        <i
          class={end === null ? "open" : undefined}
          style={{
            left: `${left * 100}%`,
            width: `${Math.max(0.4, (right - left) * 100)}%`,
            background: cssMeaning(table.string("category", row)),
          }}
          aria-hidden="true"
        />
      )}
      {peak && peak.at >= window[0] && peak.at <= window[1] && <b style={{ left: `${place(peak.at) * 100}%` }} aria-hidden="true" />}
    </span>
  );
}

export function Retained({ selected, recorded }: { selected: string | null; recorded: boolean }) {
  const [, go] = useRoute();
  const of = useTable("retained_storages");
  const { table } = of;
  if (of.state === "unavailable" && recorded) {
    return (
      <Panel title="Still live at the end" query="retained_storages">
        <Empty title="Nothing stayed" reason="Every storage that was recorded was seen to end, or its end is inferred." />
      </Panel>
    );
  }
  return (
    <Panel
      title="Still live at the end"
      query="retained_storages"
      of={of}
      height={200}
      note="Storages without an end when the recording ended. Parameters and optimizer state are meant to stay; an activation is not."
    >
      {table && (
        <DataTable
          table={table}
          label="Storages still live at the end, largest first"
          what="storages"
          maxRows={8}
          columns={[...STORAGE_COLUMNS, { name: "start_timestamp_ns", label: "allocated at" }, { name: "storage_id", label: "storage", most: 30 }]}
          onSelect={(row) => go({ sel: select.storage(table.string("storage_id", row) ?? "") })}
          selected={selected === null ? undefined : table.find("storage_id", selected)}
        />
      )}
    </Panel>
  );
}
