// A panel: a heading, the query behind it, how much of it is shown, and what is said while there is nothing.
// In: a title, a query, a height. Out: `Panel`, `Empty`. Left to neighbours: what is inside.
// A panel that waits for its block keeps its height, so that nothing moves when the data comes.

import type { ComponentChildren } from "preact";
import { useId } from "preact/hooks";
import { store, type TableState } from "../data/store";
import { count } from "./format";
import { SqlButton } from "./sql";
import { printable } from "./text";

interface Props {
  title: string;
  /** Query behind it: its SQL, and "showing N of M" from its block. */
  query?: string;
  note?: ComponentChildren;
  /** What the panel waits for; without it the children are shown at once. */
  of?: TableState;
  /** Height that is kept while there is nothing, in pixels. */
  height?: number;
  /** Controls beside the heading. */
  tools?: ComponentChildren;
  class?: string;
  children?: ComponentChildren;
}

export function Panel({ title, query, note, of, height = 120, tools, class: extra = "", children }: Props) {
  const id = useId();
  const info = query ? store.info(query) : undefined;
  return (
    <section class={`panel ${extra}`} aria-labelledby={id}>
      <header>
        <h2 id={id}>{title}</h2>
        {info && !info.unavailable && info.total !== null && info.total > info.rows && (
          <span class="cut">
            showing {count(info.rows)} of {count(info.total)}
          </span>
        )}
        <span class="gap" />
        {tools}
        {query && <SqlButton query={query} />}
      </header>
      {(note || info?.note) && (
        <p class="note">
          {note}
          {note && info?.note ? " " : ""}
          {info?.note && printable(info.note)}
        </p>
      )}
      {!of || of.state === "ready" ? children : <Waiting of={of} height={height} />}
    </section>
  );
}

function Waiting({ of, height }: { of: TableState; height: number }) {
  const style = { minHeight: `${height}px` };
  if (of.state === "loading") {
    return (
      <div class="waiting" style={style} role="status">
        Decoding…
      </div>
    );
  }
  return (
    <div class="waiting" style={style}>
      <Empty title={of.state === "failed" ? "This could not be read" : "Nothing here"} reason={of.reason} />
    </div>
  );
}

/** Why there is nothing to show. */
export function Empty({ title = "Nothing here", reason }: { title?: string; reason?: string | null }) {
  return (
    <div class="empty">
      <strong>{title}</strong>
      {reason && <span>{printable(reason)}</span>}
    </div>
  );
}
