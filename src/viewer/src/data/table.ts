// A decoded block: typed columns, and what they hold in one row.
// In: columns as decode.ts makes them. Out: `Table`. Left to neighbours: where they come from (store.ts), how a value is
// written (ui/format.ts).
// An absent value is marked, never a number: NumColumn.values has NaN there, and `nulls` says that it is absent.

export interface NumColumn {
  kind: "num";
  values: Float64Array;
  /** 1: absent. Null: nothing is. */
  nulls: Uint8Array | null;
  /** The whole numbers, where one is beyond 2^53 and `values` is therefore rounded. */
  exact: BigInt64Array | null;
}

export interface TextColumn {
  kind: "text";
  /** Place in the dictionary; -1: absent. */
  codes: Int32Array;
  dictionary: string[];
}

export interface BoolColumn {
  kind: "bool";
  values: Uint8Array;
  nulls: Uint8Array | null;
}

export type Column = NumColumn | TextColumn | BoolColumn;
export type Cell = number | bigint | string | boolean | null;

export class Table {
  readonly name: string;
  readonly rows: number;
  readonly columns: Map<string, Column>;

  constructor(name: string, rows: number, columns: Map<string, Column>) {
    this.name = name;
    this.rows = rows;
    this.columns = columns;
  }

  has(name: string): boolean {
    return this.columns.has(name);
  }

  num(name: string): NumColumn {
    const column = this.columns.get(name);
    if (column?.kind !== "num") throw new Error(`${this.name} has no column of numbers ${name}`);
    return column;
  }

  text(name: string): TextColumn {
    const column = this.columns.get(name);
    if (column?.kind !== "text") throw new Error(`${this.name} has no column of text ${name}`);
    return column;
  }

  bool(name: string): BoolColumn {
    const column = this.columns.get(name);
    if (column?.kind !== "bool") throw new Error(`${this.name} has no column of truths ${name}`);
    return column;
  }

  /** What a row holds; null: absent, or there is no such column. */
  cell(name: string, row: number): Cell {
    const column = this.columns.get(name);
    if (!column || row < 0 || row >= this.rows) return null;
    switch (column.kind) {
      case "num":
        if (column.nulls?.[row]) return null;
        return column.exact ? column.exact[row]! : column.values[row]!;
      case "text":
        return column.dictionary[column.codes[row]!] ?? null;
      case "bool":
        return column.nulls?.[row] ? null : column.values[row] === 1;
    }
  }

  /** A number, rounded where it is beyond 2^53; null: absent. */
  number(name: string, row: number): number | null {
    const value = this.cell(name, row);
    return typeof value === "number" || typeof value === "bigint" ? Number(value) : null;
  }

  string(name: string, row: number): string | null {
    const value = this.cell(name, row);
    return value === null ? null : String(value);
  }

  /** A row by column name. */
  row(row: number): Record<string, Cell> {
    return Object.fromEntries([...this.columns.keys()].map((name) => [name, this.cell(name, row)]));
  }

  /** First row that holds this text; -1: none. */
  find(name: string, text: string): number {
    const column = this.columns.get(name);
    if (column?.kind !== "text") return -1;
    const code = column.dictionary.indexOf(text);
    return code < 0 ? -1 : column.codes.indexOf(code);
  }
}
