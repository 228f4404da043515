// Which part of the data flow is looked at: where it lies, how to go in, out, around one operation, to the next page.
// In: the scope, the selection. Out: `Narrow`, `scopeOf`. Left to neighbours: what a scope holds (flow_scope.ts).

import type { Route } from "../../state/route";
import { useRoute } from "../../state/route";
import { parse, type Selection } from "../../state/selection";
import { count } from "../../ui/format";
import { printable, short } from "../../ui/text";
import type { Flow } from "./flow";
import type { Scope } from "./flow_scope";
import type { FlowView } from "./flow_view";

const STEPS = 2;

export function scopeOf(flow: Flow, route: Route): Scope {
  const near = parse(typeof route.near === "string" ? route.near : undefined);
  if (near?.kind === "op") {
    const node = flow.at(near.span, near.index);
    const steps = Math.max(1, Math.min(9, Math.floor(Number(route.steps ?? STEPS)) || STEPS));
    if (node >= 0) return { kind: "near", node, steps };
  }
  if (route.in === "all") return { kind: "all" };
  const row = route.in === undefined ? flow.spans.measured : flow.spans.row(Number(route.in));
  // The region may hold no operation, as where they are recorded after it: all of them, then.
  if (row < 0 || (route.in === undefined && flow.below(row) === 0)) return { kind: "all" };
  return { kind: "span", row };
}

interface Props {
  flow: Flow;
  scope: Scope;
  view: FlowView;
  selection: Selection | null;
}

const GO = { at: undefined, page: undefined, turn: undefined };

export function Narrow({ flow, scope, view, selection }: Props) {
  const [route, go] = useRoute();
  const { spans } = flow;
  const inside = (row: number) => go({ ...GO, near: undefined, steps: undefined, in: String(spans.ids[row]) });
  const row =
    selection?.kind === "span" ? spans.row(selection.id) : selection?.kind === "op" ? spans.row(selection.span) : -1;
  const path = scope.kind === "span" ? spans.path(scope.row) : [];
  const middle =
    selection?.kind === "op" ? flow.at(selection.span, selection.index) : selection?.kind === "tensor" ? flow.around(selection.id) : -1;
  const near = middle < 0 ? null : flow.selOf(middle);
  return (
    <>
      <nav class="scope" aria-label="Part of the data flow">
        <button type="button" class="crumb" aria-current={scope.kind === "all" ? "true" : undefined} onClick={() => go({ ...GO, near: undefined, steps: undefined, in: "all" })}>
          all
        </button>
        {path.slice(-3).map((at) => (
          <span key={at}>
            <span aria-hidden="true"> › </span>
            <button
              type="button"
              class="crumb"
              aria-current={scope.kind === "span" && at === scope.row ? "true" : undefined}
              onClick={() => inside(at)}
              title={`${printable(spans.name(at))}${at === spans.measured ? ", the measured region" : ""}`}
            >
              {short(spans.name(at), 22)}
            </button>
          </span>
        ))}
        {scope.kind === "near" && (
          <span>
            <span aria-hidden="true"> › </span>
            around {short(flow.name(scope.node), 22)}
          </span>
        )}
      </nav>
      {scope.kind === "near" && (
        <label class="steps">
          steps
          <select value={String(scope.steps)} onChange={(e) => go({ ...GO, steps: e.currentTarget.value })}>
            {[1, 2, 3, 4, 6, 9].map((n) => (
              <option key={n} value={String(n)}>
                {n}
              </option>
            ))}
          </select>
        </label>
      )}
      {row >= 0 && flow.below(row) > 0 && !(scope.kind === "span" && scope.row === row) && (
        <button type="button" class="quiet framed" onClick={() => inside(row)} title="Only what ran in the selected span">
          Inside {short(spans.name(row), 18)}
        </button>
      )}
      {near && !(scope.kind === "near" && scope.node === middle) && (
        <button
          type="button"
          class="quiet framed"
          onClick={() => go({ ...GO, near, steps: undefined })}
          title="What is before and behind the selected operation, or that of the selected tensor"
        >
          Around the selection
        </button>
      )}
      <button
        type="button"
        class="quiet framed"
        aria-pressed={route.inputs !== "no"}
        onClick={() => go({ inputs: route.inputs === "no" ? undefined : "no", at: undefined }, "replace")}
        title="Tensors that no operation of this page made: parameters, data, what was not recorded"
      >
        Inputs
      </button>
      {view.pages > 1 && (
        <span class="pages">
          <button type="button" class="quiet framed" disabled={view.page === 0} onClick={() => go({ page: String(view.page), at: undefined })} aria-label="Earlier nodes">
            ‹
          </button>
          part {count(view.page + 1)} of {count(view.pages)}
          <button
            type="button"
            class="quiet framed"
            disabled={view.page + 1 === view.pages}
            onClick={() => go({ page: String(view.page + 2), at: undefined })}
            aria-label="Later nodes"
          >
            ›
          </button>
        </span>
      )}
    </>
  );
}
