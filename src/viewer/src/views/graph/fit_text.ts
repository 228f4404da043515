// Text that must fit into a box: measured, and shortened in the middle until it does.
// In: a text of the trace, a width. Out: what to draw. Left to neighbours: drawing it as a text node.
// Measured once a text and font: a thousand names cost some milliseconds.

import { short } from "../../ui/text";

export const SANS = 'system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif';

const context = document.createElement("canvas").getContext("2d");
const widths = new Map<string, number>();

/** Width of a text in a font of one pixel, times a thousand pixels: letters scale. */
function unit(text: string, weight: number): number {
  const key = `${weight} ${text}`;
  let wide = widths.get(key);
  if (wide === undefined) {
    if (!context) return text.length * 0.56;
    context.font = `${weight} 100px ${SANS}`;
    wide = context.measureText(text).width / 100;
    if (widths.size > 20_000) widths.clear();
    widths.set(key, wide);
  }
  return wide;
}

export function widthOf(text: string, size: number, weight = 400): number {
  return unit(text, weight) * size;
}

export function fitText(raw: string, room: number, size: number, weight = 400): string {
  // Nothing longer than this is read in a box, and measuring a megabyte takes its time.
  const text = short(raw.length > 1000 ? raw.slice(0, 300) + raw.slice(-300) : raw, 200);
  if (widthOf(text, size, weight) <= room) return text;
  const letters = [...text];
  let low = 0;
  let high = letters.length - 1;
  const cut = (n: number) => {
    const head = Math.ceil(n * 0.62);
    return `${letters.slice(0, head).join("")}…${n > head ? letters.slice(-(n - head)).join("") : ""}`;
  };
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (widthOf(cut(middle), size, weight) <= room) low = middle;
    else high = middle - 1;
  }
  return low === 0 ? "…" : cut(low);
}
