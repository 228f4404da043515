// The query behind a panel: a button, and a dialog with what a row is, the SQL, the views it reads and the commands.
// In: the name of a query. Out: `SqlButton`. Left to neighbours: the texts (meta.queries, meta.views).
// The native dialog keeps the focus inside and closes on Escape.

import { useRef, useState } from "preact/hooks";
import { queryCommand } from "../data/origin";
import { store } from "../data/store";
import { Code } from "./copy";

export function SqlButton({ query, label = "SQL" }: { query: string; label?: string }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const [open, setOpen] = useState(false);
  const show = () => {
    setOpen(true);
    dialog.current?.showModal();
  };
  return (
    <>
      <button type="button" class="quiet sql" onClick={show} aria-haspopup="dialog" title={`SQL of ${query}`}>
        {label}
        <span class="visually-hidden"> of {query}</span>
      </button>
      <dialog
        ref={dialog}
        aria-label={`Query ${query}`}
        onClose={() => setOpen(false)}
        onClick={(e) => e.target === dialog.current && dialog.current?.close()}
      >
        {open && <Text query={query} close={() => dialog.current?.close()} />}
      </dialog>
    </>
  );
}

/** Views of meta that a text names, and those that these name in turn. */
function viewsRead(sql: string): string[] {
  const names = Object.keys(store.meta.views ?? {});
  const found = new Set<string>();
  const look = (text: string) => {
    const body = text.replace(/--.*$/gm, "");
    for (const name of names) {
      if (found.has(name) || !new RegExp(`\\b${name.replace(/\W/g, "\\$&")}\\b`).test(body)) continue;
      found.add(name);
      look(store.meta.views[name]!);
    }
  };
  look(sql);
  return [...found].sort();
}

function Text({ query, close }: { query: string; close: () => void }) {
  const known = store.meta.queries?.[query];
  const views = known ? viewsRead(known.sql) : [];
  return (
    <div class="sheet">
      <header>
        <h2>{query}</h2>
        <button type="button" class="quiet" onClick={close} aria-label="Close">
          ✕
        </button>
      </header>
      {known && <p>{known.summary}</p>}
      {known?.row && <p class="soft">Row: {known.row}</p>}
      <Code text={queryCommand(query)} label={`command that runs ${query}`} />
      {known ? (
        <Code text={known.sql.trim()} label={`SQL of ${query}`} />
      ) : (
        <p class="soft">Its text is not in this page; it is in queries/{query}.sql of the tool.</p>
      )}
      {views.length > 0 && <p class="soft">Views it reads:</p>}
      {views.map((name) => (
        <details key={name}>
          <summary>{name}</summary>
          <Code text={store.meta.views[name]!.trim()} label={`SQL of view ${name}`} />
        </details>
      ))}
    </div>
  );
}
