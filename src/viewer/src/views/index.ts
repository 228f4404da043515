// The views of the page, in the order of their keys.
// In: one module a view. Out: `views`. Left to neighbours: the shell that shows them (app.tsx).

import type { JSX } from "preact";
import { View as Compare } from "./compare";
import { View as Gpu } from "./gpu";
import { View as Graph } from "./graph";
import { View as Measurements } from "./measurements";
import { View as Memory } from "./memory";
import { View as Overview } from "./overview";
import { View as Timeline } from "./timeline";
import { View as Timings } from "./timings";

export interface ViewEntry {
  id: string;
  label: string;
  View: () => JSX.Element | null;
}

/** Views of a trace: keys 1 to 7. */
export const traceViews: ViewEntry[] = [
  { id: "overview", label: "Overview", View: Overview },
  { id: "timeline", label: "Timeline", View: Timeline },
  { id: "graph", label: "Graph", View: Graph },
  { id: "timings", label: "Timings", View: Timings },
  { id: "measurements", label: "Measurements", View: Measurements },
  { id: "memory", label: "Memory", View: Memory },
  { id: "gpu", label: "GPU", View: Gpu },
];

/** The one view of a comparison. */
export const comparisonViews: ViewEntry[] = [{ id: "compare", label: "Compare", View: Compare }];
