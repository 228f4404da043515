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
  /** Letter before each number: identities such as s12 are kept as numbers, and read as text. Null: plain numbers. */
  prefix?: string | null;
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

  /** A column of numbers; one of identities (s12) gives their numbers. */
  num(name: string): NumColumn {
    const column = this.columns.get(name);
    if (column?.kind === "num") return column;
    if (column?.kind === "text") return this.converted(`num ${name}`, () => numbersOf(column)) as NumColumn;
    throw new Error(`${this.name} has no column of numbers ${name}`);
  }

  /** A column of text; one of identities gives them as text (s12). Their numbers, `num`, are lighter. */
  text(name: string): TextColumn {
    const column = this.columns.get(name);
    if (column?.kind === "text") return column;
    if (column?.kind === "num") return this.converted(`text ${name}`, () => textsOf(column)) as TextColumn;
    throw new Error(`${this.name} has no column of text ${name}`);
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
        if (column.prefix != null) return `${column.prefix}${column.values[row]}`;
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
    if (column?.kind === "text") {
      const code = column.dictionary.indexOf(text);
      return code < 0 ? -1 : column.codes.indexOf(code);
    }
    if (column?.kind === "num" && column.prefix != null && text.startsWith(column.prefix)) {
      const digits = text.slice(column.prefix.length);
      return /^\d+$/.test(digits) ? column.values.indexOf(Number(digits)) : -1;
    }
    return -1;
  }

  private conversions = new Map<string, Column>();

  private converted(key: string, make: () => Column): Column {
    let column = this.conversions.get(key);
    if (!column) this.conversions.set(key, (column = make()));
    return column;
  }
}

/** The numbers of texts that end in one (s12, 7); absent for any other. */
function numbersOf({ codes, dictionary }: TextColumn): NumColumn {
  const known = Float64Array.from(dictionary, (t) => (/^[a-z]?\d+$/.test(t) ? Number(t.replace(/^[a-z]/, "")) : NaN));
  const values = Float64Array.from(codes, (code) => (code < 0 ? NaN : known[code]!));
  const nulls = Uint8Array.from(values, (v) => (Number.isNaN(v) ? 1 : 0));
  return { kind: "num", values, nulls, exact: null, prefix: null };
}

function textsOf(column: NumColumn): TextColumn {
  const codes = new Int32Array(column.values.length);
  const places = new Map<number, number>();
  const dictionary: string[] = [];
  column.values.forEach((value, row) => {
    if (column.nulls?.[row]) {
      codes[row] = -1;
      return;
    }
    let code = places.get(value);
    if (code === undefined) {
      places.set(value, (code = dictionary.length));
      dictionary.push(`${column.prefix ?? ""}${value}`);
    }
    codes[row] = code;
  });
  return { kind: "text", codes, dictionary };
}

/** Numbers less the smallest of them, exact even where they are beyond 2^53, as times since 1970 in nanoseconds are. */
export function offsets(column: NumColumn): { base: bigint; values: Float64Array } {
  const { exact, values, nulls } = column;
  if (exact) {
    let base: bigint | null = null;
    exact.forEach((v, i) => {
      if (!nulls?.[i] && (base === null || v < base)) base = v;
    });
    const from = base ?? 0n;
    return { base: from, values: Float64Array.from(exact, (v, i) => (nulls?.[i] ? NaN : Number(v - from))) };
  }
  let base = Infinity;
  values.forEach((v, i) => {
    if (!nulls?.[i] && v < base) base = v;
  });
  if (!Number.isFinite(base)) base = 0;
  return { base: BigInt(Math.trunc(base)), values: values.map((v) => v - base) };
}
