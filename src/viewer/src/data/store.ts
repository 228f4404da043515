// The data of the page: meta at once, each block decoded when it is first asked for.
// In: the page (page.ts), the worker. Out: `store`, the hook `useTable`. Left to neighbours: what is drawn from it.
// One worker decodes in order of asking; what it hands back is kept for as long as the page lives.

import { useEffect, useState } from "preact/hooks";
import workerText from "worker:text";
import { blockText, readMeta } from "./page";
import { type Column, Table } from "./table";
import type { BlockInfo, Meta } from "./types";

interface Answer {
  id: number;
  rows: number;
  columns: [string, Column][];
  error?: string;
}

class Decoder {
  private worker: Worker | null = null;
  private waiting = new Map<number, { done: (a: Answer) => void; failed: (e: Error) => void }>();
  private next = 1;

  decode(text: string): Promise<Answer> {
    return new Promise((done, failed) => {
      const id = this.next++;
      this.waiting.set(id, { done, failed });
      this.open().postMessage({ id, text });
    });
  }

  private open(): Worker {
    if (this.worker) return this.worker;
    const url = URL.createObjectURL(new Blob([workerText], { type: "text/javascript" }));
    const worker = new Worker(url);
    worker.onmessage = ({ data }: MessageEvent<Answer>) => {
      const one = this.waiting.get(data.id);
      this.waiting.delete(data.id);
      if (data.error === undefined) one?.done(data);
      else one?.failed(new Error(data.error));
    };
    worker.onerror = (event) => {
      const error = new Error(event.message || "the worker that decodes the data did not start");
      for (const one of this.waiting.values()) one.failed(error);
      this.waiting.clear();
    };
    return (this.worker = worker);
  }
}

class Store {
  private cachedMeta: Meta | null = null;
  private decoder = new Decoder();
  private tables = new Map<string, Promise<Table>>();
  private ready = new Map<string, Table>();
  private reading = 0;

  get meta(): Meta {
    return (this.cachedMeta ??= readMeta());
  }

  info(name: string): BlockInfo | undefined {
    return this.meta.blocks?.find((b) => b.name === name);
  }

  /** The table, if it is decoded already. */
  peek(name: string): Table | undefined {
    return this.ready.get(name);
  }

  table(name: string): Promise<Table> {
    let table = this.tables.get(name);
    if (!table) {
      this.tables.set(name, (table = this.load(name)));
      this.busy(1);
      const done = () => this.busy(-1);
      table.then(done, done);
    }
    return table;
  }

  /** The view says that it is not whole yet: for whoever listens to it, or waits for it. */
  private busy(by: 1 | -1): void {
    this.reading += by;
    const main = document.getElementById("main");
    if (this.reading > 0) main?.setAttribute("aria-busy", "true");
    else main?.removeAttribute("aria-busy");
  }

  private async load(name: string): Promise<Table> {
    const info = this.info(name);
    const text = await blockText(name);
    if (text === null) {
      // A query without rows has no block to decode, and a table all the same.
      if (info && !info.unavailable && info.rows === 0) return this.keep(empty(info));
      throw new Error(info?.unavailable ?? `the page has no block ${name}`);
    }
    const { rows, columns } = await this.decoder.decode(text);
    return this.keep(new Table(name, rows, new Map(columns)));
  }

  /** A table that a view made from the document in meta: its rows can be selected like those of a block. */
  adopt(table: Table, info: BlockInfo): Table {
    if (!this.info(table.name)) (this.meta.blocks ??= []).push(info);
    this.tables.set(table.name, Promise.resolve(table));
    return this.keep(table);
  }

  private keep(table: Table): Table {
    this.ready.set(table.name, table);
    return table;
  }
}

function empty(info: BlockInfo): Table {
  const columns = info.columns.map(({ name, type }): [string, Column] => {
    if (/^(Int|Float|UInt)/.test(type)) return [name, { kind: "num", values: new Float64Array(), nulls: null, exact: null, prefix: null }];
    if (/^Bool/.test(type)) return [name, { kind: "bool", values: new Uint8Array(), nulls: null }];
    return [name, { kind: "text", codes: new Int32Array(), dictionary: [] }];
  });
  return new Table(info.name, 0, new Map(columns));
}

export const store = new Store();

export interface TableState {
  table?: Table;
  info?: BlockInfo;
  state: "loading" | "ready" | "unavailable" | "failed";
  /** Why there is none. */
  reason?: string;
}

/** Why a block has no table, if that is known without decoding. */
export function absence(name: string): string | null {
  const info = store.info(name);
  if (!info) return store.meta.unsound_reason ?? "this page was made without it";
  return info.unavailable === "there is none" ? "the query has no rows: none was recorded" : info.unavailable;
}

export function useTable(name: string): TableState {
  const [, again] = useState(0);
  const [failed, setFailed] = useState<{ name: string; reason: string } | null>(null);
  const info = store.info(name);
  const table = store.peek(name);
  const reason = absence(name);
  useEffect(() => {
    if (reason !== null || store.peek(name)) return;
    let current = true;
    store.table(name).then(
      () => current && again((n) => n + 1),
      (e: Error) => current && setFailed({ name, reason: e.message }),
    );
    return () => {
      current = false;
    };
  }, [name, reason]);
  if (reason !== null) return { info, state: "unavailable", reason };
  if (table) return { table, info, state: "ready" };
  if (failed?.name === name) return { info, state: "failed", reason: failed.reason };
  return { info, state: "loading" };
}
