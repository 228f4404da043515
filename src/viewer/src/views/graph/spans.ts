// The spans of the trace as a tree: parents, children, who lies below whom.
// In: block spans. Out: `Spans`, made once a page. Left to neighbours: what of it is drawn (tree_model.ts, flow_view.ts).
// A span whose parent is not in the page, or that is its own ancestor, becomes a root: nothing is lost, nothing loops.

import type { Table } from "../../data/table";

export class Spans {
  readonly table: Table;
  readonly rows: number;
  /** Number of each span: 12 for s12. */
  readonly ids: Float64Array;
  /** Row of the parent; -1: a root. */
  readonly parent: Int32Array;
  readonly roots: number[] = [];
  /** Place in a walk from the roots, and the place behind the last descendant. */
  readonly first: Int32Array;
  readonly last: Int32Array;
  /** Row of the measured region; -1: none. */
  readonly measured: number;
  private readonly starts: Int32Array;
  private readonly list: Int32Array;
  private readonly places = new Map<number, number>();
  private readonly steps: (string | null)[];

  constructor(table: Table) {
    this.table = table;
    this.rows = table.rows;
    this.ids = table.num("id").values;
    const parents = table.num("parent_id").values;
    for (let row = 0; row < this.rows; row++) this.places.set(this.ids[row]!, row);
    this.parent = new Int32Array(this.rows).fill(-1);
    for (let row = 0; row < this.rows; row++) {
      const parent = Number.isNaN(parents[row]!) ? -1 : (this.places.get(parents[row]!) ?? -1);
      this.parent[row] = parent === row ? -1 : parent;
    }
    this.starts = new Int32Array(this.rows + 1);
    this.list = new Int32Array(this.rows);
    this.link();
    this.first = new Int32Array(this.rows).fill(-1);
    this.last = new Int32Array(this.rows);
    this.walk();
    this.measured = table.bool("measured").values.indexOf(1);
    const own = table.text("step");
    this.steps = Array.from(own.codes, (code) => own.dictionary[code] ?? null);
  }

  private link(): void {
    this.starts.fill(0);
    for (const parent of this.parent) if (parent >= 0) this.starts[parent + 1]!++;
    for (let i = 0; i < this.rows; i++) this.starts[i + 1]! += this.starts[i]!;
    const next = this.starts.slice();
    for (let row = 0; row < this.rows; row++) {
      const parent = this.parent[row]!;
      if (parent >= 0) this.list[next[parent]!++] = row;
    }
  }

  private walk(): void {
    let place = 0;
    const from = (root: number) => {
      this.roots.push(root);
      const stack = [root];
      const at = [0];
      this.first[root] = place++;
      while (stack.length > 0) {
        const row = stack[stack.length - 1]!;
        const child = this.starts[row]! + at[at.length - 1]!++;
        if (child < this.starts[row + 1]!) {
          const next = this.list[child]!;
          if (this.first[next]! >= 0) continue;
          this.first[next] = place++;
          stack.push(next);
          at.push(0);
        } else {
          this.last[row] = place;
          stack.pop();
          at.pop();
        }
      }
    };
    for (let row = 0; row < this.rows; row++) if (this.parent[row]! < 0) from(row);
    for (let row = 0; row < this.rows; row++) {
      if (this.first[row]! >= 0) continue;
      this.parent[row] = -1;
      this.link();
      from(row);
    }
  }

  row(id: number): number {
    return this.places.get(id) ?? -1;
  }

  children(row: number): Int32Array {
    return this.list.subarray(this.starts[row]!, this.starts[row + 1]!);
  }

  /** Whether a span is another one, or lies below it. */
  within(row: number, ancestor: number): boolean {
    return this.first[row]! >= this.first[ancestor]! && this.first[row]! < this.last[ancestor]!;
  }

  name(row: number): string {
    return this.table.string("name", row) ?? `s${this.ids[row]}`;
  }

  total(row: number): number | null {
    return this.table.number("host_total_time_ns", row);
  }

  self(row: number): number | null {
    return this.table.number("host_self_time_ns", row);
  }

  /** The step of a span, or of the nearest span above it that says one. */
  step(row: number): string | null {
    for (let at = row; at >= 0; at = this.parent[at]!) if (this.steps[at] !== null) return this.steps[at]!;
    return null;
  }

  /** Wall time of the measured region: what shares are of. */
  region(): number | null {
    return this.measured < 0 ? null : this.total(this.measured);
  }

  /** From a root down to a span. */
  path(row: number): number[] {
    const path: number[] = [];
    for (let at = row; at >= 0; at = this.parent[at]!) path.unshift(at);
    return path;
  }
}

const made = new WeakMap<Table, Spans>();

export function spansOf(table: Table): Spans {
  let spans = made.get(table);
  if (!spans) made.set(table, (spans = new Spans(table)));
  return spans;
}
