// What a page carries besides its blocks: the JSON document in #cg-meta.
// In: nothing. Out: types alone. Left to neighbours: reading it (page.ts), the blocks (table.ts).
// The documents of the command line have the same shapes: schemas/overview.json, schemas/comparison.json.
// Text in them is data: it goes to the screen through `printable` of ui/text.ts only.

/** Of a page of a comparison only schema, tool, kind, title and comparison are given. */
export interface Meta {
  schema: string;
  tool: { package: string; version: string };
  kind: "trace" | "comparison";
  title: string;
  run: Row;
  evidence: Evidence;
  coverage: Coverage[];
  sound: boolean;
  unsound_reason: string | null;
  blocks: BlockInfo[];
  queries: Record<string, QueryText>;
  views: Record<string, string>;
  comparison?: unknown;
}

export type Scalar = string | number | boolean | null;
export type Row = Record<string, unknown>;

export interface QueryText {
  summary: string;
  /** What a row is, from the header of the query. */
  row: string;
  sql: string;
  /** Tables and views. */
  reads?: string[];
}

export interface ColumnInfo {
  name: string;
  type: string;
  unit: string;
  meaning: string;
}

export interface BlockInfo {
  name: string;
  query: string | null;
  /** Rows in the page. */
  rows: number;
  /** Rows that the query has; null where that is not known. */
  total: number | null;
  /** What was cut or aggregated. */
  note: string | null;
  /** Why there is no block. */
  unavailable: string | null;
  columns: ColumnInfo[];
}

export type Level = "complete" | "partial" | "unavailable" | "invalid";

export interface Coverage {
  plane: string;
  declared: string | null;
  observed: number | null;
  level: string;
  reason: string | null;
  source: string | null;
}

export interface Capability {
  level: string;
  reason: string;
  source: string;
}

/** A list that says whether it is whole. */
export interface Bounded<T> {
  displayed: number;
  total: number;
  truncated: boolean;
  rows: T[];
}

export interface Issue {
  code: string;
  severity: string;
  message: string;
  count: number;
  ids: string[];
}

export interface Finding {
  code: string;
  severity?: string;
  summary: string;
  /** Level of the weakest capability it rests on. */
  qualification: string;
  requires: string[];
  /** A span (s8), an operation (op:matmul), a storage, a clock, a family. */
  source: string;
  evidence: { query: string; rows: Row[] };
  next: { kind: string; purpose: string } | null;
}

export interface Evidence {
  schema?: string;
  provenance: Row;
  health: {
    capture_complete: boolean;
    structurally_valid: boolean;
    error_count: number;
    warning_count: number;
    issues: Bounded<Issue>;
  };
  capabilities: Record<string, Capability>;
  counts: Record<string, number>;
  timing: {
    entrypoint: string;
    outer_wall_time_ns: number;
    slowest_host_spans: Bounded<Row>;
    step_split: Row[];
  } | null;
  timing_unavailable_reason: string | null;
  operations: { coverage: Capability; by_name: Bounded<Row> };
  activations: {
    coverage: Capability;
    device_time: Capability;
    host_time: Capability;
    observed_operations: number | null;
  };
  gradients: { coverage: Capability; states: Row[]; not_present: Bounded<Row> };
  memory: {
    logical: boolean;
    physical: boolean;
    by_device: Bounded<Row>;
    at_peak: Bounded<Row>;
    physical_by_device: Bounded<Row>;
  };
  gpu: {
    status: string;
    reason: string;
    reports: Record<string, unknown>;
    devices: Bounded<Row> | null;
    kernels: Bounded<Row> | null;
    phases: Bounded<Row> | null;
    outside_share: number | null;
    correlation_complete: boolean | null;
    provenance_binding: string | null;
  };
  findings: Bounded<Finding>;
  gaps: Bounded<string>;
  deferred: Row[];
}
