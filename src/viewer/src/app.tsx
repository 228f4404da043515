// The shell: what ran, the views as tabs, the view that the address names, the selection beside it.
// In: meta, the route. Out: `App`. Left to neighbours: each view, the details.
// Keys work wherever no text is typed; every one of them has a control that does the same.

import { Component, type ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { store } from "./data/store";
import { href, useRoute } from "./state/route";
import { type Theme, useTheme } from "./state/theme";
import { Details } from "./ui/details";
import { Empty } from "./ui/panel";
import { printable, short } from "./ui/text";
import { comparisonViews, traceViews } from "./views";

const KEYS: [string, string][] = [

  ["/", "search in this view"],
  ["Esc", "leave the search, close the selection"],
  ["↑ ↓ PgUp PgDn Home End", "move in a table, Enter selects a row"],
  ["?", "these keys"],
];

/** Keys of a view, for the list that "?" shows. */
export const viewKeys: Record<string, [string, string][]> = {};

export function App() {
  const [route, go] = useRoute();
  const { meta } = store;
  const views = meta.kind === "comparison" ? comparisonViews : traceViews;
  const active = views.find((v) => v.id === route.view) ?? views[0]!;
  const help = useRef<HTMLDialogElement>(null);
  const main = useRef<HTMLElement>(null);

  useEffect(() => {
    document.title = `${printable(meta.title)} · ${active.label} · ${meta.tool.package}`;
    main.current?.scrollTo(0, 0);
  }, [active.id]);

  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
      const target = event.target as HTMLElement;
      const typing = /^(input|textarea|select)$/i.test(target.tagName) || target.isContentEditable;
      if (document.querySelector("dialog[open]")) return;
      if (event.key === "Escape") {
        if (typing) target.blur();
        else go({ sel: undefined });
        return;
      }
      if (typing) return;
      const place = "12345678".indexOf(event.key);
      if (event.key.length === 1 && place >= 0 && views[place]) go({ view: views[place].id });
      else if (event.key === "?") help.current?.showModal();
      else if (event.key === "/") {
        const search = main.current?.querySelector<HTMLInputElement>("[data-search]");
        if (!search) return;
        event.preventDefault();
        search.focus();
        search.select();
      }
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, [views, go]);

  return (
    <div class={route.sel ? "app with-details" : "app"}>
      <a
        class="skip"
        href="#main"
        onClick={(e) => {
          e.preventDefault();
          main.current?.focus();
        }}
      >
        Skip to the view
      </a>
      <header class="top">
        <Title />
        <span class="gap" />
        <ThemeChoice />
        <button type="button" class="quiet" onClick={() => help.current?.showModal()} title="Keys (?)">
          Keys
        </button>
        <button type="button" class="quiet" onClick={() => print()} title="Print this view">
          Print
        </button>
      </header>
      <nav aria-label="Views">
        {views.map(({ id, label }, i) => (
          <a key={id} href={href({ view: id })} aria-current={id === active.id ? "page" : undefined} title={`Key ${i + 1}`}>
            {label}
          </a>
        ))}
      </nav>
      <main id="main" ref={main} tabIndex={-1} aria-label={active.label} data-view={active.id}>
        <Guard key={active.id}>
          <active.View />
        </Guard>
      </main>
      <Details />
      <dialog ref={help} aria-label="Keys" onClick={(e) => e.target === help.current && help.current?.close()}>
        <div class="sheet">
          <header>
            <h2>Keys</h2>
            <button type="button" class="quiet" onClick={() => help.current?.close()} aria-label="Close">
              ✕
            </button>
          </header>
          <dl class="keys">
            {[[`1 – ${views.length}`, "views, in the order of the tabs"] as const, ...KEYS, ...(viewKeys[active.id] ?? [])].map(([key, what]) => (
              <div key={key}>
                <dt>
                  <kbd>{key}</kbd>
                </dt>
                <dd>{what}</dd>
              </div>
            ))}
          </dl>
        </div>
      </dialog>
    </div>
  );
}

function Title() {
  const { meta } = store;
  const outcome = typeof meta.run?.outcome === "string" ? meta.run.outcome : null;
  const run = typeof meta.run?.run_id === "string" ? meta.run.run_id : null;
  const reason = meta.unsound_reason ?? undefined;
  return (
    <>
      <h1 title={printable(meta.title)}>{short(meta.title, 56)}</h1>
      {outcome && (
        <span class={`badge ${meta.sound ? "ok" : "bad"}`} title={reason && printable(reason)}>
          {meta.sound ? "✓" : "!"} {outcome !== "complete" ? printable(outcome) : meta.sound ? "capture complete" : "capture not sound"}
        </span>
      )}
      {run && (
        <code class="run" title={printable(run)}>
          {short(run, 36)}
        </code>
      )}
    </>
  );
}

const THEMES: [Theme, string][] = [
  ["system", "Auto"],
  ["light", "Light"],
  ["dark", "Dark"],
];

function ThemeChoice() {
  const { theme, setTheme } = useTheme();
  return (
    <div class="segmented" role="group" aria-label="Theme">
      {THEMES.map(([id, label]) => (
        <button key={id} type="button" aria-pressed={theme === id} onClick={() => setTheme(id)}>
          {label}
        </button>
      ))}
    </div>
  );
}

/** A view that fails says so, and leaves the others alone. */
class Guard extends Component<{ children: ComponentChildren }, { failed: string | null }> {
  override state = { failed: null };

  override componentDidCatch(error: unknown) {
    console.error(error);
    this.setState({ failed: error instanceof Error ? error.message : String(error) });
  }

  override render() {
    const { failed } = this.state;
    return failed === null ? this.props.children : <Empty title="This view failed" reason={failed} />;
  }
}
