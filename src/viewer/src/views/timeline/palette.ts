// Colours of a canvas, resolved for the theme: fills by how much of a pixel is covered, text that can be read on them.
// In: custom properties of style.css. Out: `Palette`. Left to neighbours: what has which tone.

import { token } from "../../ui/colors";
import type { Tone } from "./model";

/** Steps of a column's strength: how much of its time is covered. */
export const LEVELS = 8;

export interface Fill {
  solid: string;
  /** Operations and the like: below spans of the same tone. */
  light: string;
  /** What a search did not find. */
  dim: string;
  /** Columns of `solid` and of `light`, weakest first. */
  solidLevels: string[];
  lightLevels: string[];
  onSolid: string;
  onLight: string;
  hatch: CanvasPattern | null;
}

export interface Palette {
  card: string;
  page: string;
  text: string;
  soft: string;
  grid: string;
  axis: string;
  edge: string;
  accent: string;
  region: string;
  font: string;
  fills: Fill[];
}

type Rgb = [number, number, number];

function parse(color: string): Rgb {
  const numbers = (color.match(/[\d.]+/g) ?? []).map(Number);
  const scale = color.startsWith("color(") ? 255 : 1;
  return [(numbers[0] ?? 0) * scale, (numbers[1] ?? 0) * scale, (numbers[2] ?? 0) * scale];
}

const rgba = ([r, g, b]: Rgb, alpha: number) => `rgba(${Math.round(r)},${Math.round(g)},${Math.round(b)},${alpha.toFixed(3)})`;

const mix = (a: Rgb, b: Rgb, part: number): Rgb => [0, 1, 2].map((i) => a[i]! * part + b[i]! * (1 - part)) as Rgb;

function luminance(color: Rgb): number {
  const [r, g, b] = color.map((c) => (c / 255 <= 0.03928 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4)) as Rgb;
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

function readable(background: Rgb): string {
  return luminance(background) > 0.2 ? "#101215" : "#f4f5f7";
}

/** Slanted lines: more than one row is behind the mark. */
function hatch(line: string, dpr: number): CanvasPattern | null {
  const size = Math.round(6 * dpr);
  const canvas = document.createElement("canvas");
  canvas.width = canvas.height = size;
  const c = canvas.getContext("2d");
  if (!c) return null;
  c.strokeStyle = line;
  c.lineWidth = 1.6 * dpr;
  for (const shift of [-size, 0, size]) {
    c.beginPath();
    c.moveTo(shift - dpr, size + dpr);
    c.lineTo(shift + size + dpr, -dpr);
    c.stroke();
  }
  const pattern = c.createPattern(canvas, "repeat");
  pattern?.setTransform(new DOMMatrix().scale(1 / dpr));
  return pattern;
}

export function palette(tones: Tone[], dark: boolean, dpr: number): Palette {
  const card = parse(token("--card"));
  const lightPart = dark ? 0.62 : 0.56;
  const fill = ({ token: name }: Tone): Fill => {
    const color = parse(token(name));
    const steps = (top: number) => Array.from({ length: LEVELS }, (_, i) => rgba(color, top * (0.42 + (0.58 * (i + 1)) / LEVELS)));
    return {
      solid: rgba(color, 1),
      light: rgba(color, lightPart),
      dim: rgba(color, dark ? 0.16 : 0.15),
      solidLevels: steps(1),
      lightLevels: steps(lightPart + 0.12),
      onSolid: readable(color),
      onLight: readable(mix(color, card, lightPart)),
      hatch: hatch(rgba(mix(color, card, dark ? 0.6 : 0.75), 1), dpr),
    };
  };
  return {
    card: token("--card"),
    page: token("--page"),
    text: token("--text"),
    soft: token("--soft"),
    grid: token("--grid"),
    axis: token("--axis"),
    edge: token("--edge"),
    accent: token("--accent"),
    region: rgba(parse(token("--accent")), dark ? 0.09 : 0.06),
    font: getComputedStyle(document.body).fontFamily,
    fills: tones.map(fill),
  };
}
