// Colours by meaning and by name, from a palette that colour-blind readers can tell apart (after Okabe and Ito).
// In: a name, the theme. Out: a CSS colour, for style properties and for a canvas. Left to neighbours: the values
// (style.css), and saying the same without colour.
// A name has the same colour in every view and on every page.

import { onTheme } from "../state/theme";

/** Number of colours that names are spread over: --c0 to --c6. Grey (--c7) is for what has no name. */
const NAMED = 7;

const FIXED: Record<string, string> = {
  forward: "--c0",
  activation: "--activation",
  backward: "--c1",
  gradient: "--gradient",
  optimizer: "--c2",
  parameter: "--parameter",
  untracked: "--c7",
  other: "--c7",
};

const resolved = new Map<string, string>();
let probe: HTMLElement | null = null;
onTheme(() => resolved.clear());

/** What a custom property of style.css is now, as a colour that a canvas takes. */
export function token(name: string): string {
  let color = resolved.get(name);
  if (color === undefined) {
    if (!probe) {
      probe = document.createElement("span");
      probe.hidden = true;
      document.body.append(probe);
    }
    probe.style.color = `var(${name})`;
    color = getComputedStyle(probe).color;
    resolved.set(name, color);
  }
  return color;
}

function hash(text: string): number {
  let h = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) {
    h ^= text.charCodeAt(i);
    h = Math.imul(h, 0x01000193);
  }
  return (h ^ (h >>> 15)) >>> 0;
}

/** Custom property of a name's colour: "--c3". */
export function colorToken(name: string): string {
  return `--c${hash(name) % NAMED}`;
}

/** Custom property of a step's or a memory category's colour. */
export function meaningToken(name: string | null): string {
  return FIXED[name ?? "other"] ?? (name === null ? "--c7" : colorToken(name));
}

/** For style properties: follows the theme by itself. */
export function cssColor(name: string): string {
  return `var(${colorToken(name)})`;
}
export function cssMeaning(name: string | null): string {
  return `var(${meaningToken(name)})`;
}

/** For a canvas: resolved now; draw again when the theme changes (`useTheme`). */
export function canvasColor(name: string): string {
  return token(colorToken(name));
}
export function canvasMeaning(name: string | null): string {
  return token(meaningToken(name));
}
