// A picture that there is not: why, with the way to the other one.
// In: the state of a block. Out: `Missing`. Left to neighbours: the reasons (data/store.ts).

import { type TableState } from "../../data/store";
import { useRoute } from "../../state/route";
import { Empty } from "../../ui/panel";

export function Missing({ mode, of, what }: { mode: "tree" | "flow"; of: TableState; what: string }) {
  const [, go] = useRoute();
  return (
    <>
      <div class="toolbar">
        <div class="segmented" role="group" aria-label="Picture">
          <button type="button" aria-pressed={mode === "tree"} onClick={() => go({ mode: undefined })}>
            Call tree
          </button>
          <button type="button" aria-pressed={mode === "flow"} onClick={() => go({ mode: "flow" })}>
            Data flow
          </button>
        </div>
      </div>
      <div class="picture">
        {of.state === "loading" ? (
          <div class="waiting" role="status">
            Decoding…
          </div>
        ) : (
          <Empty title={of.state === "failed" ? `The ${what} could not be read` : `No ${what}`} reason={of.reason} />
        )}
      </div>
    </>
  );
}
