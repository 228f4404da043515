// What stands above both pictures: which one, the search, zoom, export.
// In: the stage, what a search found. Out: `Toolbar`. Left to neighbours: controls of one picture (children).
// Every control has a key, named in its title.

import type { ComponentChildren } from "preact";
import type { RefObject } from "preact";
import { useRoute } from "../../state/route";
import { count } from "../../ui/format";
import type { StageApi } from "./stage";

interface Props {
  mode: "tree" | "flow";
  api: RefObject<StageApi | null>;
  /** How many the search finds, and how to reach the next. */
  found: number | null;
  what: string;
  onNext: (back: boolean) => void;
  onExport: () => void;
  children?: ComponentChildren;
}

export function Toolbar({ mode, api, found, what, onNext, onExport, children }: Props) {
  const [route, go] = useRoute();
  const show = (next: "tree" | "flow") => go({ mode: next === "tree" ? undefined : next, at: undefined, q: route.q });
  return (
    <div class="toolbar">
      <div class="segmented" role="group" aria-label="Picture">
        <button type="button" aria-pressed={mode === "tree"} onClick={() => show("tree")}>
          Call tree
        </button>
        <button type="button" aria-pressed={mode === "flow"} onClick={() => show("flow")}>
          Data flow
        </button>
      </div>
      <input
        type="search"
        data-search
        value={route.q ?? ""}
        placeholder="Search  /"
        aria-label={`Search ${what}`}
        onInput={(e) => go({ q: e.currentTarget.value || undefined }, "replace")}
        onKeyDown={(e) => {
          if (e.key !== "Enter") return;
          onNext(e.shiftKey);
          e.preventDefault();
        }}
      />
      <span class="found" role="status">
        {found === null ? "" : found === 0 ? "none found" : `${count(found)} found · Enter: next`}
      </span>
      {children}
      <span class="gap" />
      <div class="segmented" role="group" aria-label="Zoom">
        <button type="button" onClick={() => api.current?.zoom(0.8)} title="Smaller (-)" aria-label="Zoom out">
          −
        </button>
        <button type="button" onClick={() => api.current?.zoom(1.25)} title="Larger (+)" aria-label="Zoom in">
          +
        </button>
        <button type="button" onClick={() => api.current?.fit()} title="As much as can be read; once more, all of it (0)">
          Fit
        </button>
      </div>
      <button type="button" class="quiet framed" onClick={onExport} title="This picture as a file that opens alone">
        Export SVG
      </button>
    </div>
  );
}
