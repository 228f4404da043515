// The Compare view: is the candidate faster, slower, or can these runs not tell; where the change lies; what it rests on.
// In: meta.comparison, the route. Out: `View`. Left to neighbours: each part (lead.tsx, picture.tsx, changes.tsx, facts.tsx…).

import { useMemo } from "preact/hooks";
import { store } from "../../data/store";
import { useRoute } from "../../state/route";
import { Empty, Panel } from "../../ui/panel";
import { Changes, type Keep } from "./changes";
import "./compare.css";
import { readComparison } from "./document";
import { Cohorts, Needed, Opinions, Order } from "./facts";
import { Lead, Notes } from "./lead";
import { Picture } from "./picture";
import { Numbers, Runs } from "./runs";
import { Strip } from "./strip";
import { Values } from "./values";

const KEEPS: [Keep, string, string][] = [
  ["all", "All rows", "every row of the document"],
  ["certain", "Interval without zero", "rows whose interval lies on one side of zero"],
  ["alone", "In one cohort only", "rows that the baseline or the candidate alone has"],
];

export function View() {
  const [route, go] = useRoute();
  const { comparison } = store.meta;
  const c = useMemo(() => readComparison(comparison), [comparison]);
  if (!comparison) return <Empty title="Compare" reason="This page has no comparison." />;
  const filter = route.q ?? "";
  const keep = KEEPS.find(([id]) => id === route.keep)?.[0] ?? "all";
  return (
    <div class="compare">
      <Lead c={c} />
      <Panel title="Every run, and the difference">
        <div class="body">
          <Picture c={c} />
          <Strip c={c} />
        </div>
      </Panel>
      <Notes c={c} />
      <Cohorts c={c} />
      <div class="narrow" role="search" aria-label="Rows of the lists below">
        <input
          type="search"
          data-search
          value={filter}
          placeholder="Filter rows  /"
          aria-label="Filter rows of all lists"
          onInput={(e) => go({ q: e.currentTarget.value || undefined }, "replace")}
        />
        <div class="segmented" role="group" aria-label="Rows that are shown">
          {KEEPS.map(([id, label, title]) => (
            <button key={id} type="button" aria-pressed={keep === id} title={title} onClick={() => go({ keep: id === "all" ? undefined : id }, "replace")}>
              {label}
            </button>
          ))}
        </div>
      </div>
      <Changes c={c} list="labels" filter={filter} keep={keep} />
      <Changes c={c} list="operations" filter={filter} keep={keep} />
      <Changes c={c} list="memory" filter={filter} keep={keep} />
      <Changes c={c} list="gradients" filter={filter} keep={keep} />
      <Values c={c} filter={filter} />
      <Order c={c} />
      <Opinions c={c} />
      <Needed c={c} />
      <Runs c={c} />
      <Numbers />
    </div>
  );
}
