// A table of a block: sortable, filterable, selectable, with only the rows drawn that can be seen.
// In: a decoded table, which columns, a filter. Out: `DataTable`. Left to neighbours: order (order.ts), numbers
// (format.ts), what a selection shows (details.tsx).
// A grid for screen readers: one row has the focus, arrows move it, Enter selects.

import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { store } from "../data/store";
import type { Column, Table } from "../data/table";
import { exact, format, showing } from "./format";
import { allRows, matching, sorted } from "./order";
import { columnLabel, printable, short } from "./text";
import { Value } from "./value";

export interface ColumnSpec {
  name: string;
  label?: string;
  /** Drawn in the heading in place of the label: an axis that the cells share. */
  head?: ComponentChildren;
  unit?: string;
  /** Tooltip of the heading; by default the column's meaning. */
  meaning?: string;
  /** A bar behind the number: its part of the column's largest, or of 1 for a share. */
  bar?: boolean;
  /** Colour of the bar. */
  color?: (row: number) => string;
  render?: (row: number, table: Table) => ComponentChildren;
  /** Longest text shown. */
  most?: number;
  align?: "left" | "right";
  /** Why a value may be absent. */
  absent?: string;
}

export interface Sort {
  column: string;
  descending: boolean;
}

interface Props {
  table: Table;
  columns: (string | ColumnSpec)[];
  /** What the table is: for screen readers. */
  label: string;
  /** Order at first; without it the order of the query. */
  sort?: Sort;
  onSort?: (sort: Sort | null) => void;
  /** Words that a row's texts must hold. */
  filter?: string;
  /** Rows that may be shown at all. */
  keep?: (row: number) => boolean;
  onSelect?: (row: number) => void;
  selected?: number;
  /** Height in rows at most. */
  maxRows?: number;
  what?: string;
}

const ROW = 27;
/** Browsers draw no element higher than some 17 million pixels: beyond this the scroll bar stands for more. */
const TALLEST = 12_000_000;
const SPARE = 8;

export function DataTable(props: Props) {
  const { table, label, filter = "", keep, onSelect, selected, maxRows = 18, what = "rows" } = props;
  const columns = props.columns.map((c) => (typeof c === "string" ? { name: c } : c));
  const [sort, setSort] = useState<Sort | null>(props.sort ?? null);
  const [focus, setFocus] = useState(0);
  const [scroll, setScroll] = useState(0);
  const box = useRef<HTMLDivElement>(null);
  const moved = useRef(false);

  // Order first: it is kept while words are typed.
  const ordered = useMemo(() => {
    const column = sort && table.columns.get(sort.column);
    const all = allRows(table);
    return column ? sorted(column, all, sort.descending) : all;
  }, [table, sort?.column, sort?.descending]);
  const order = useMemo(() => {
    const found = matching(table, ordered, filter);
    return keep ? found.filter(keep) : found;
  }, [table, ordered, filter, keep]);
  useEffect(() => setFocus((f) => Math.max(0, Math.min(f, order.length - 1))), [order]);

  const height = Math.min(Math.max(order.length, 1), maxRows) * ROW;
  const whole = Math.min(order.length * ROW, TALLEST);
  const ratio = whole > height ? (order.length * ROW - height) / (whole - height) : 1;
  const first = Math.max(0, Math.floor((scroll * ratio) / ROW) - SPARE);
  const last = Math.min(order.length, first + Math.ceil(height / ROW) + 2 * SPARE);
  const above = Math.max(0, Math.min(scroll - (scroll * ratio - first * ROW), whole - (last - first) * ROW));

  const reveal = (place: number) => {
    const el = box.current;
    if (!el) return;
    const top = place * ROW;
    const seen = el.scrollTop * ratio;
    if (top < seen) el.scrollTop = top / ratio;
    else if (top + ROW > seen + height) el.scrollTop = (top + ROW - height) / ratio;
  };
  useEffect(() => {
    if (!moved.current) return;
    moved.current = false;
    box.current?.querySelector<HTMLElement>(`[data-place="${focus}"]`)?.focus({ preventScroll: true });
  });

  // A selection that comes from elsewhere, as from the address, is brought into sight.
  const clicked = useRef(-1);
  useEffect(() => {
    if (selected === undefined || selected < 0 || selected === clicked.current) return;
    const place = order.indexOf(selected);
    if (place < 0) return;
    setFocus(place);
    reveal(place);
  }, [selected, order]);
  const choose = (row: number) => {
    clicked.current = row;
    onSelect?.(row);
  };

  // Columns only grow: other rows come into sight while one scrolls, and nothing should move sideways. All are measured
  // before any is changed, so that the page is laid out once.
  useLayoutEffect(() => {
    if (order.length <= maxRows) return;
    const heads = [...(box.current?.querySelectorAll<HTMLElement>("thead th") ?? [])];
    const widths = heads.map((th) => Math.ceil(th.getBoundingClientRect().width));
    heads.forEach((th, i) => {
      if (widths[i]! > (Number.parseInt(th.style.minWidth, 10) || 0)) th.style.minWidth = `${widths[i]}px`;
    });
  }, [first, order]);

  // A panel that becomes narrower, as beside the details, measures its columns anew.
  useEffect(() => {
    let width = 0;
    const watch = new ResizeObserver((entries) => {
      if (width > (width = entries[0]!.contentRect.width)) for (const th of box.current?.querySelectorAll<HTMLElement>("thead th") ?? []) th.style.minWidth = "";
    });
    watch.observe(box.current!);
    return () => watch.disconnect();
  }, []);

  const sortBy = (column: string) => {
    const text = !isNumber(table.columns.get(column));
    let next: Sort | null = { column, descending: !text };
    if (sort?.column === column) next = sort.descending === !text ? { column, descending: !!text } : null;
    setSort(next);
    props.onSort?.(next);
  };
  const onKey = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const page = Math.max(1, Math.floor(height / ROW) - 1);
    const steps: Record<string, number> = {
      ArrowDown: focus + 1,
      ArrowUp: focus - 1,
      PageDown: focus + page,
      PageUp: focus - page,
      Home: 0,
      End: order.length - 1,
    };
    const next = steps[event.key];
    if (next !== undefined) {
      const place = Math.max(0, Math.min(next, order.length - 1));
      moved.current = true;
      setFocus(place);
      reveal(place);
      event.preventDefault();
    } else if ((event.key === "Enter" || event.key === " ") && event.target === event.currentTarget) {
      if (order.length > 0) choose(order[focus]!);
      event.preventDefault();
    }
  };

  const infos = new Map(store.info(table.name)?.columns.map((c) => [c.name, c]));
  const shown = columns.map((spec) => {
    const column = table.columns.get(spec.name);
    const unit = spec.unit ?? infos.get(spec.name)?.unit ?? "none";
    return { spec, column, unit, right: spec.align ? spec.align === "right" : isNumber(column) };
  });
  const tops = useMemo(
    () => new Map(columns.filter((c) => c.bar).map((c) => [c.name, largest(table.columns.get(c.name))])),
    [table],
  );

  return (
    <div class="data">
      <div
        class="scroll"
        ref={box}
        style={{ maxHeight: `${height + ROW + 16}px` }}
        onScroll={(e) => setScroll(e.currentTarget.scrollTop)}
      >
        <table role="grid" aria-label={label} aria-rowcount={order.length + 1}>
          <thead>
            <tr aria-rowindex={1}>
              {shown.map(({ spec, right, column }) => {
                const by = sort?.column === spec.name ? sort : null;
                const meaning = spec.meaning ?? infos.get(spec.name)?.meaning;
                const text = spec.label ?? columnLabel(spec.name);
                return (
                  <th
                    key={spec.name}
                    class={right ? "n" : undefined}
                    scope="col"
                    aria-sort={by ? (by.descending ? "descending" : "ascending") : column ? "none" : undefined}
                  >
                    {column ? (
                      <button type="button" onClick={() => sortBy(spec.name)} title={meaning && printable(meaning)}>
                        {spec.head ? <span class="visually-hidden">{text}</span> : text}
                        {spec.head}
                        {by && (
                          <span class="arrow" aria-hidden="true">
                            {by.descending ? "↓" : "↑"}
                          </span>
                        )}
                      </button>
                    ) : (
                      <span title={meaning}>{text}</span>
                    )}
                  </th>
                );
              })}
            </tr>
          </thead>
          <tbody>
            {above > 0 && <tr role="presentation" aria-hidden="true" style={{ height: `${above}px` }} />}
            {Array.from(order.subarray(first, last), (row, i) => {
              const place = first + i;
              return (
                <tr
                  key={place}
                  data-place={place}
                  tabIndex={place === focus ? 0 : -1}
                  aria-rowindex={place + 2}
                  aria-selected={selected === row}
                  class={onSelect ? "choice" : undefined}
                  onKeyDown={onKey}
                  onFocus={() => setFocus(place)}
                  onClick={(e) => {
                    if ((e.target as Element).closest("a, button")) return;
                    choose(row);
                  }}
                >
                  {shown.map(({ spec, unit, right }) => {
                    const top = tops.get(spec.name);
                    const value = table.cell(spec.name, row);
                    const part = top && typeof value === "number" ? Math.max(0, Math.min(1, value / top)) : 0;
                    return (
                      <td key={spec.name} class={`${right ? "n" : ""}${spec.bar ? " bar" : ""}`}>
                        {part > 0 && (
                          <i style={{ width: `${part * 100}%`, background: spec.color?.(row) }} aria-hidden="true" />
                        )}
                        {spec.render ? spec.render(row, table) : <Cell {...{ value, unit, spec }} />}
                      </td>
                    );
                  })}
                </tr>
              );
            })}
            {last < order.length && (
              <tr
                role="presentation"
                aria-hidden="true"
                style={{ height: `${Math.max(0, whole - above - (last - first) * ROW)}px` }}
              />
            )}
          </tbody>
        </table>
        {order.length === 0 && <p class="none">{table.rows === 0 ? "The query has no rows." : "No row matches."}</p>}
      </div>
      <p class="foot" role="status">
        {showing(order.length, Math.max(table.rows, store.info(table.name)?.total ?? 0), what)}
      </p>
    </div>
  );
}

function Cell({ value, unit, spec }: { value: ReturnType<Table["cell"]>; unit: string; spec: ColumnSpec }) {
  if (value === null) return <Value v={null} absent={spec.absent} />;
  if (typeof value === "string") {
    const text = short(value, spec.most ?? 56);
    return <span title={printable(value)}>{text}</span>;
  }
  return (
    <span class="num" title={exact(value, unit)}>
      {format(value, unit, spec.name)}
    </span>
  );
}

/** Numbers stand right and begin with the largest; identities are names. */
function isNumber(column: Column | undefined): boolean {
  return column?.kind === "num" && column.prefix == null;
}

function largest(column: Column | undefined): number {
  if (column?.kind !== "num") return 0;
  let top = 0;
  for (const value of column.values) if (value > top) top = value;
  return top;
}

