// A plane in a sentence or two: for readers who see it, and for those who hear it.
// In: a plane. Out: text. Left to neighbours: single marks (marks.ts).

import { count, duration } from "../../ui/format";
import { KINDS, type Plane } from "./model";

const NOUNS: [one: string, several: string][] = [
  ["span", "spans"],
  ["operation", "operations"],
  ["device interval", "device intervals"],
  ["GPU operation", "GPU operations"],
  ["NVTX range", "NVTX ranges"],
];

const counted = (n: number, [one, several]: [string, string]) => `${count(n)} ${n === 1 ? one : several}`;

export function summary(plane: Plane): string {
  if (plane.count === 0) return "Nothing was recorded on this clock.";
  const rows = KINDS.map(() => 0);
  const columns = KINDS.map((kind) => (kind === "span" ? null : plane.tables[kind]?.num("merged").values));
  for (let i = 0; i < plane.count; i++) {
    const k = plane.kind[i]!;
    const stands = columns[k]?.[plane.source[i]!] ?? 1;
    rows[k]! += stands > 1 ? stands : 1;
  }
  const parts = rows.map((n, k) => (n > 0 ? counted(n, NOUNS[k]!) : "")).filter(Boolean);
  const groups = counted(plane.groups.length, plane.host ? ["thread", "threads"] : ["lane", "lanes"]);
  const said = [`${parts.join(" and ")} in ${groups}, over ${duration(plane.known - plane.from)}.`];
  const region = plane.regions[0];
  if (region) said.push(region.open ? "The measured region never closed." : `The measured region took ${duration(region.to - region.from)}.`);
  else if (plane.host) said.push("There is no measured region.");
  if (plane.open > 0) said.push(`${counted(plane.open, ["span", "spans"])} never closed: drawn to the end, fading.`);
  if (plane.merged > 0) said.push(`${counted(plane.merged, ["mark stands", "marks stand"])} for several rows each.`);
  if (plane.skipped > 0) said.push(`${count(plane.skipped)} without a start are not drawn.`);
  // A number stays with its unit.
  return said.join(" ").replace(/(\d) (?=[nµm]?s\b)/g, "$1\u00a0");
}
