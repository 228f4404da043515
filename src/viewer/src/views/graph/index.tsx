// The Graph view: who called whom, and which tensor went where.
// In: the route. Out: `View`. Left to neighbours: the two pictures (call_tree.tsx, data_flow.tsx).

import { viewKeys } from "../../app";
import { useRoute } from "../../state/route";
import { CallTree } from "./call_tree";
import { DataFlow } from "./data_flow";
import "./graph.css";

const MOVE: [string, string][] = [
  ["+ −", "zoom, as the wheel does; Shift and the wheel move"],
  ["0", "fit what can be read; once more, all of it"],
];
const TREE: [string, string][] = [
  ["↑ ↓ Home End", "to the line above or below, in the picture or the outline"],
  ["→ ←", "open, or to the first below; close, or to the one above"],
  ["Space * Enter", "open or close; open all beside it; select"],
];
const FLOW: [string, string][] = [
  ["↑ ↓", "to what made it, to what takes it"],
  ["← →", "to what lies beside"],
  ["Space ⌫ Enter", "open a span; close the span around; select"],
];

export function View() {
  const [route] = useRoute();
  const flow = route.mode === "flow";
  viewKeys.graph = [...(flow ? FLOW : TREE), ...MOVE];
  return <section class="panel graph">{flow ? <DataFlow /> : <CallTree />}</section>;
}
