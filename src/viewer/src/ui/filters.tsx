// Filters above a table: words to look for, and one choice for each column of few values; all of it in the address.
// In: a table, columns to choose from. Out: `Filters`, `useFilters`, `Tabs`, `useRoom`. Left to neighbours: the table.

import { useEffect, useMemo, useState } from "preact/hooks";
import type { Table } from "../data/table";
import { type Change, useRoute } from "../state/route";
import { count } from "./format";
import type { Sort } from "./data_table";
import { columnLabel, printable, short } from "./text";

/** Most values that a choice offers. */
const MOST = 24;
/** What the address says of rows without a value. */
const ABSENT = "–";

interface Facet {
  column: string;
  values: { value: string; rows: number }[];
}

function facetsOf(table: Table, columns: string[]): Facet[] {
  const facets: Facet[] = [];
  for (const column of columns) {
    const found = table.columns.get(column);
    if (found?.kind !== "text" || found.dictionary.length > MOST) continue;
    const rows = new Uint32Array(found.dictionary.length + 1);
    for (const code of found.codes) rows[code + 1]!++;
    const values = found.dictionary.map((value, i) => ({ value, rows: rows[i + 1]! })).filter((v) => v.rows > 0);
    if (rows[0]! > 0) values.push({ value: ABSENT, rows: rows[0]! });
    if (values.length > 1) facets.push({ column, values });
  }
  return facets;
}

export interface FilterState {
  filter: string;
  keep: ((row: number) => boolean) | undefined;
  sort: Sort | null;
  onSort: (sort: Sort | null) => void;
}

/** What the address asks of a table: words, choices, order. `sort` is the order without one. */
export function useFilters(table: Table | undefined, columns: string[], sort: Sort | null = null): FilterState {
  const [route, go] = useRoute();
  const chosen = columns.map((c) => route[c]).join("\n");
  const keep = useMemo(() => {
    if (!table) return undefined;
    const tests: ((row: number) => boolean)[] = [];
    for (const name of columns) {
      const wanted = route[name];
      const column = table.columns.get(name);
      if (wanted === undefined || wanted === "" || column?.kind !== "text") continue;
      const code = wanted === ABSENT ? -1 : column.dictionary.indexOf(String(wanted));
      // A value that the table does not have matches no row.
      tests.push((row) => column.codes[row] === code && (code >= 0 || wanted === ABSENT));
    }
    return tests.length === 0 ? undefined : (row: number) => tests.every((t) => t(row));
  }, [table, chosen]);
  const given = typeof route.sort === "string" ? route.sort : undefined;
  return {
    filter: route.q ?? "",
    keep,
    sort: given ? { column: given.replace(/^-/, ""), descending: given.startsWith("-") } : sort,
    onSort: (s) => go({ sort: s ? `${s.descending ? "-" : ""}${s.column}` : undefined }, "replace"),
  };
}

interface Props {
  table: Table | undefined;
  facets?: string[];
  placeholder: string;
}

export function Filters({ table, facets = [], placeholder }: Props) {
  const [route, go] = useRoute();
  const choices = useMemo(() => (table ? facetsOf(table, facets) : []), [table, facets.join()]);
  return (
    <div class="filters" role="search">
      <input
        type="search"
        data-search
        value={route.q ?? ""}
        placeholder={placeholder}
        aria-label={placeholder}
        title="Key /"
        spellcheck={false}
        onInput={(e) => go({ q: e.currentTarget.value || undefined }, "replace")}
      />
      {choices.map(({ column, values }) => {
        const label = columnLabel(column);
        return (
          <select
            key={column}
            aria-label={label}
            value={String(route[column] ?? "")}
            onChange={(e) => go({ [column]: e.currentTarget.value || undefined }, "replace")}
          >
            <option value="">any {label}</option>
            {values.map(({ value, rows }) => (
              <option key={value} value={value}>
                {value === ABSENT ? `no ${label}` : short(value, 32)} ({count(rows)})
              </option>
            ))}
          </select>
        );
      })}
    </div>
  );
}

export interface Tab {
  id: string;
  label: string;
  /** What it shows: its title. */
  title?: string;
  /** A number beside its label. */
  count?: number;
  alert?: boolean;
}

/** Choices that exclude each other, as links: each is a place. */
export function Tabs({ tabs, active, param, label }: { tabs: Tab[]; active: string; param: string; label: string }) {
  const [route, go] = useRoute();
  // What was asked of one list means nothing to another.
  const leave = Object.fromEntries(Object.keys(route).filter((k) => k !== "view" && k !== param).map((k) => [k, undefined]));
  return (
    <div class="segmented tabs" role="group" aria-label={label}>
      {tabs.map((t) => {
        const change: Change = { [param]: t.id, ...leave };
        return (
          <button key={t.id} type="button" aria-pressed={t.id === active} title={t.title} onClick={() => go(change)}>
            {printable(t.label)}
            {t.count !== undefined && <small class={t.alert ? "bad" : undefined}>{count(t.count)}</small>}
          </button>
        );
      })}
    </div>
  );
}

/** Rows of a table that fit below `above` pixels of the window. */
export function useRoom(above: number, least = 8): number {
  const [height, setHeight] = useState(innerHeight);
  useEffect(() => {
    const onResize = () => setHeight(innerHeight);
    addEventListener("resize", onResize);
    return () => removeEventListener("resize", onResize);
  }, []);
  return Math.max(least, Math.floor((height - above) / 27));
}
