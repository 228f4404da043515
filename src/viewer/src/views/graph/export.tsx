// The picture as a file: an SVG that opens alone, with its looks written into it.
// In: what is drawn at full detail, its extent. Out: a download. Left to neighbours: drawing.
// The file has text as text and nothing that runs: names of a trace are text nodes here as on the page, and the
// serializer escapes them.

import { render, type VNode } from "preact";
import { store } from "../../data/store";
import { printable } from "../../ui/text";
import { SANS } from "./fit_text";

const NS = "http://www.w3.org/2000/svg";
/** What a class gives an element, as attributes that SVG has for it. */
const LOOKS: [property: string, initial: string][] = [
  ["fill", "rgb(0, 0, 0)"],
  ["fill-opacity", "1"],
  ["stroke", "none"],
  ["stroke-width", "1px"],
  ["stroke-dasharray", "none"],
  ["stroke-opacity", "1"],
  ["stroke-linecap", "butt"],
  ["stroke-linejoin", "miter"],
  ["opacity", "1"],
];
const LETTERS = ["font-size", "font-weight", "text-anchor"];
const KEPT = new Set(["d", "x", "y", "x1", "y1", "x2", "y2", "width", "height", "rx", "ry", "cx", "cy", "r", "transform", "points", "text-anchor"]);
const MARGIN = 24;

export function svgText(picture: VNode, width: number, height: number, about: string): string {
  const place = document.createElement("div");
  place.className = "graph exporting";
  document.body.append(place);
  try {
    render(<svg>{picture}</svg>, place);
    const from = place.querySelector("svg")!;
    const root = document.createElementNS(NS, "svg");
    const w = Math.ceil(width + 2 * MARGIN);
    const h = Math.ceil(height + 2 * MARGIN);
    root.setAttribute("viewBox", `${-MARGIN} ${-MARGIN} ${w} ${h}`);
    root.setAttribute("width", String(w));
    root.setAttribute("height", String(h));
    root.setAttribute("font-family", SANS);
    const { meta } = store;
    const title = document.createElementNS(NS, "title");
    title.textContent = `${printable(meta.title)}: ${about}`;
    const desc = document.createElementNS(NS, "desc");
    const run = typeof meta.run?.run_id === "string" ? `run ${printable(meta.run.run_id)}, ` : "";
    desc.textContent = `${run}candle-graph, host time`;
    const ground = document.createElementNS(NS, "rect");
    const box = { x: -MARGIN, y: -MARGIN, width: w, height: h, fill: getComputedStyle(place).backgroundColor };
    for (const [name, value] of Object.entries(box)) ground.setAttribute(name, String(value));
    root.append(title, desc, ground);
    for (const child of from.children) {
      const copy = copied(child as SVGElement);
      if (copy) root.append(copy);
    }
    return `<?xml version="1.0" encoding="UTF-8"?>\n${new XMLSerializer().serializeToString(root)}\n`;
  } finally {
    render(null, place);
    place.remove();
  }
}

function copied(from: SVGElement): SVGElement | null {
  // What closes something has no place in a file; what says that there is more below has.
  if (from.matches(".pill.open")) return null;
  const looks = getComputedStyle(from);
  if (looks.display === "none" || looks.visibility === "hidden") return null;
  const clear = (value: string) => value === "none" || value === "rgba(0, 0, 0, 0)";
  // What is there for the pointer alone has no place in a file.
  if (from.localName === "path" || from.localName === "rect") if (clear(looks.fill) && clear(looks.stroke)) return null;
  const to = document.createElementNS(NS, from.localName);
  for (const { name, value } of from.attributes) if (KEPT.has(name)) to.setAttribute(name, value);
  if (from.localName === "title") {
    to.textContent = from.textContent;
    return to;
  }
  const shape = from.localName !== "g";
  for (const [property, initial] of LOOKS) {
    if (!shape && property !== "opacity") continue;
    const value = looks.getPropertyValue(property);
    if (value && value !== initial) to.setAttribute(property, value);
  }
  if (from.localName === "text") {
    for (const property of LETTERS) to.setAttribute(property, looks.getPropertyValue(property));
    to.setAttribute("xml:space", "preserve");
    to.textContent = from.textContent;
    return to;
  }
  for (const child of from.children) {
    const copy = copied(child as SVGElement);
    if (copy) to.append(copy);
  }
  return to;
}

export function download(text: string, name: string): void {
  const url = URL.createObjectURL(new Blob([text], { type: "image/svg+xml" }));
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}

/** A name that every file system takes. */
export function fileName(what: string): string {
  const title = store.meta.title.replace(/[^A-Za-z0-9]+/g, "-").replace(/^-+|-+$/g, "").slice(0, 60);
  return `${title || "trace"}-${what}.svg`;
}
