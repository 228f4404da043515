// A panel with one table of a block whose rows can be selected: most of what GPU evidence is.
// In: a query, its columns. Out: `List`. Left to neighbours: what is more than a table.

import type { ComponentChildren } from "preact";
import { useTable } from "../../data/store";
import type { Table } from "../../data/table";
import { useRoute } from "../../state/route";
import { parse, select } from "../../state/selection";
import { type ColumnSpec, DataTable } from "../../ui/data_table";
import { Panel } from "../../ui/panel";

interface Props {
  title: string;
  query: string;
  label: string;
  what?: string;
  note?: ComponentChildren;
  maxRows?: number;
  columns: (string | ColumnSpec)[] | ((table: Table) => (string | ColumnSpec)[]);
  filter?: string;
  tools?: ComponentChildren;
  before?: ComponentChildren;
  after?: (table: Table) => ComponentChildren;
}

export function List({ title, query, label, what, note, maxRows = 10, columns, filter, tools, before, after }: Props) {
  const of = useTable(query);
  return (
    <Panel title={title} query={query} of={of} height={maxRows * 20} note={note} tools={tools}>
      {before}
      {of.table && <Rows table={of.table} columns={typeof columns === "function" ? columns(of.table) : columns} {...{ label, what, maxRows, filter }} />}
      {of.table && after?.(of.table)}
    </Panel>
  );
}

interface RowsProps {
  table: Table;
  columns: (string | ColumnSpec)[];
  label: string;
  what?: string;
  maxRows?: number;
  filter?: string;
  keep?: (row: number) => boolean;
}

/** A table of a block; a row that is chosen is shown beside it. */
export function Rows({ table, ...rest }: RowsProps) {
  const [route, go] = useRoute();
  const selection = parse(route.sel);
  const selected = selection?.kind === "row" && selection.block === table.name ? selection.row : undefined;
  return <DataTable table={table} {...rest} selected={selected} onSelect={(row) => go({ sel: select.row(table.name, row) })} />;
}
