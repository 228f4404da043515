// Measurements: scalars and tensor statistics, gradients, and what was promised of them.
// In: blocks tensor_stats, gradients, dead_gradients, gradient_families, first_non_finite. Out: `View`. Left to
// neighbours: the same over many runs (the series page of the tool).
// What is not finite is shown as such, first: where it began, then every row of it.

import { store } from "../data/store";
import { useRoute } from "../state/route";
import { type Tab, Tabs } from "../ui/filters";
import { Chain } from "./measurements/chain";
import { Families } from "./measurements/families";
import { Dead, Gradients } from "./measurements/gradients";
import { Values } from "./measurements/values";
import "./measurements/measurements.css";

const LISTS: Record<string, () => preact.JSX.Element | null> = {
  values: Values,
  gradients: Gradients,
  dead: Dead,
  families: Families,
};

export function View() {
  const [route] = useRoute();
  const { counts } = store.meta.evidence;
  const total = (name: string) => {
    const info = store.info(name);
    return info ? (info.total ?? info.rows) : undefined;
  };
  const tabs: Tab[] = [
    {
      id: "values",
      label: "Scalars and tensor statistics",
      count: total("tensor_stats"),
      alert: (counts.tensor_stat_non_finite_events ?? 0) > 0,
    },
    { id: "gradients", label: "Gradients", count: total("gradients") },
    { id: "dead", label: "Without a gradient", count: total("dead_gradients"), title: "zero, missing or never recorded" },
    { id: "families", label: "Families", count: total("gradient_families"), title: "what the contract promises" },
  ];
  // Where only gradients were recorded, they are what is looked for.
  const first = !total("tensor_stats") && total("gradients") ? "gradients" : "values";
  const active = tabs.some((t) => t.id === route.tab) ? String(route.tab) : first;
  const List = LISTS[active]!;
  return (
    <div class="measurements">
      <Tabs label="What was measured" param="tab" active={active} tabs={tabs} />
      <Chain />
      <List key={active} />
    </div>
  );
}
