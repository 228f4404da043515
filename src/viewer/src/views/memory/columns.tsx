// What several tables show alike of a storage: category, tensor, span, how it ended.
// In: a table with storages, a row. Out: `STORAGE_COLUMNS`, `Category`, `Ending`. Left to neighbours: the tables.

import type { Table } from "../../data/table";
import { href } from "../../state/route";
import { select } from "../../state/selection";
import { cssMeaning } from "../../ui/colors";
import type { ColumnSpec } from "../../ui/data_table";
import { printable, short } from "../../ui/text";
import { Value } from "../../ui/value";

/** A category with the colour it has in the chart. */
export function Category({ name }: { name: string | null }) {
  if (name === null) return <Value v={null} />;
  return (
    <span class="swatch">
      <i style={{ background: cssMeaning(name) }} aria-hidden="true" />
      {printable(name)}
    </span>
  );
}

/** Shape and element type: 8×512×1024 f32. */
function tensor(row: number, table: Table) {
  const shape = table.string("shape", row);
  const dtype = table.string("dtype", row);
  const text = [dtype, shape === null || shape === "" ? null : `[${shape}]`].filter((t) => t !== null).join(" ");
  return text === "" ? <Value v={null} /> : <span title={printable(text)}>{short(text, 34)}</span>;
}

function span(row: number, table: Table) {
  const id = table.string("allocation_span_id", row);
  const name = table.string("allocation_span_name", row) ?? id;
  if (id === null || name === null) return <Value v={null} absent="no span was named" />;
  return (
    <a class="name" href={href({ sel: select.span(id) })} title={printable(`${name} (${id})`)}>
      {short(name, 30)}
    </a>
  );
}

/** How a storage ended: its word, its sign and what it means. */
export const ENDINGS: [id: string, sign: string, meaning: string][] = [
  ["freed", "●", "its end was recorded"],
  ["end_unobserved", "◐", "its end is inferred: its address was used again"],
  ["retained", "▶", "no end was seen: still live when the recording ended"],
];

export function Ending({ name }: { name: string | null }) {
  const known = ENDINGS.find(([id]) => id === name);
  return (
    <span class={`ending ${known ? known[0] : ""}`} title={known?.[2]}>
      <span aria-hidden="true">{known?.[1] ?? "·"}</span> {name === null ? "–" : printable(name.replace("_", " "))}
    </span>
  );
}

export const STORAGE_COLUMNS: ColumnSpec[] = [
  { name: "bytes", label: "size" },
  { name: "category", render: (row, table) => <Category name={table.string("category", row)} /> },
  { name: "op_name", label: "allocated by", most: 28, absent: "named no op" },
  { name: "allocation_span_name", label: "in span", render: span },
  { name: "shape", label: "tensor", align: "left", render: tensor },
];
