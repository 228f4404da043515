// Names of the groups beside their rows, each a button that folds it.
// In: a plane, its layout, which part is scrolled to. Out: buttons. Left to neighbours: the rows (paint.ts).
// Only those that can be seen are there: a capture may have thousands of streams.

import { groupAt, type Layout } from "./layout";
import type { Plane } from "./model";

interface Props {
  plane: Plane;
  layout: Layout;
  scroll: number;
  height: number;
  onFold: (group: number) => void;
}

export function Gutter({ plane, layout, scroll, height, onFold }: Props) {
  const first = groupAt(layout, Math.max(0, scroll - 200));
  const shown: number[] = [];
  for (let g = first; g < plane.groups.length && layout.tops[g]! < scroll + height + 200; g++) shown.push(g);
  return (
    <div class="tl-gutter" role="group" aria-label={`Rows of ${plane.title}`}>
      {shown.map((g) => {
        const { label, detail, rows } = plane.groups[g]!;
        const open = !layout.folded.has(g);
        const place = { top: `${layout.tops[g]}px`, height: `${layout.heights[g]}px` };
        return (
          <button
            key={g}
            type="button"
            style={place}
            aria-expanded={open}
            title={`${label} · ${detail} · ${rows} ${rows === 1 ? "row" : "rows"}: ${open ? "fold" : "unfold"}`}
            onClick={() => onFold(g)}
          >
            <span class="fold" aria-hidden="true">
              {open ? "▾" : "▸"}
            </span>
            <span class="names">
              <b>{label}</b>
              {open && lines(detail, layout.heights[g]!).map((line) => <small key={line}>{line}</small>)}
            </span>
          </button>
        );
      })}
    </div>
  );
}

/** As many lines as there is room for; the last one holds what is left. */
function lines(detail: string, height: number): string[] {
  const parts = detail.split(" · ");
  const room = Math.max(1, Math.floor((height - 30) / 16));
  return parts.length <= room ? parts : [...parts.slice(0, room - 1), parts.slice(room - 1).join(" · ")];
}
