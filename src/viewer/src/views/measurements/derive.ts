// What follows from the columns of a summary: its state in one word, its values that are not finite in a few.
// In: block tensor_stats. Out: the same table with three columns more. Left to neighbours: drawing (values.tsx).

import { Table, type TextColumn } from "../../data/table";
import { count } from "../../ui/format";

/** "3 NaN, 1 +inf of 640"; null: all are finite. */
export function notFinite(
  nan: number | null,
  pos: number | null,
  neg: number | null,
  all: number | null,
  elements: number | null,
): string | null {
  const parts = [
    nan ? `${count(nan)} NaN` : "",
    pos ? `${count(pos)} +inf` : "",
    neg ? `${count(neg)} -inf` : "",
  ].filter(Boolean);
  if (parts.length === 0) {
    if (!all) return null;
    parts.push(`${count(all)} NaN or infinite`);
  }
  return elements !== null && elements > 1 ? `${parts.join(", ")} of ${count(elements)}` : parts.join(", ");
}

/** The table with `state` (finite, zero, empty, non_finite), `not_finite` and `kind` (scalar, tensor). */
export function withStates(table: Table): Table {
  const state = new Collector();
  const bad = new Collector();
  const kind = new Collector();
  for (let i = 0; i < table.rows; i++) {
    const n = (name: string) => table.number(name, i);
    const text = notFinite(n("nan"), n("pos_inf"), n("neg_inf"), n("non_finite"), n("elements"));
    bad.push(text);
    if (text !== null) state.push("non_finite");
    else if (n("elements") === 0) state.push("empty");
    else state.push(n("abs_max") === 0 ? "zero" : "finite");
    const shape = table.string("shape", i);
    kind.push(shape === null || shape === "" || shape === "scalar" ? "scalar" : "tensor");
  }
  const columns = new Map(table.columns);
  columns.set("state", state.column());
  columns.set("not_finite", bad.column());
  columns.set("kind", kind.column());
  return new Table(table.name, table.rows, columns);
}

class Collector {
  private codes: number[] = [];
  private places = new Map<string, number>();

  push(text: string | null): void {
    if (text === null) {
      this.codes.push(-1);
      return;
    }
    let code = this.places.get(text);
    if (code === undefined) this.places.set(text, (code = this.places.size));
    this.codes.push(code);
  }

  column(): TextColumn {
    return { kind: "text", codes: Int32Array.from(this.codes), dictionary: [...this.places.keys()] };
  }
}
