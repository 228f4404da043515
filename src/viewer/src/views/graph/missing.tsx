// A picture that there is not: why, with the way to the other one.
// In: the state of a block. Out: `Missing`. Left to neighbours: the reasons (data/store.ts).

import { store, type TableState } from "../../data/store";
import { useRoute } from "../../state/route";
import { Empty } from "../../ui/panel";
import { printable, short } from "../../ui/text";

/** Said beside a picture of a capture that is not whole: what is drawn is what is known of it. */
export function Unsound() {
  const { sound, unsound_reason } = store.meta;
  if (sound || !unsound_reason) return null;
  return (
    <span class="unsound" title={printable(unsound_reason)}>
      not a sound capture: {short(unsound_reason, 90)}
    </span>
  );
}

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
          <div class="absent-picture">
            <Empty title={of.state === "failed" ? `The ${what} could not be read` : `No ${what}`} reason={of.reason} />
            <Unsound />
          </div>
        )}
      </div>
    </>
  );
}
