// Light, dark, or as the system has it; kept for the next page where the browser lets a file keep anything.
// In: the system's preference, the reader's choice. Out: `useTheme`, `onTheme` for what is drawn on a canvas. Left to
// neighbours: the colours (style.css, ui/colors.ts).

import { useEffect, useState } from "preact/hooks";

export type Theme = "system" | "light" | "dark";

const KEY = "candle-graph-theme";
const system = matchMedia("(prefers-color-scheme: dark)");
const watchers = new Set<() => void>();
let chosen: Theme = kept();

function kept(): Theme {
  try {
    const text = localStorage.getItem(KEY);
    return text === "light" || text === "dark" ? text : "system";
  } catch {
    return "system";
  }
}

function apply(): void {
  if (chosen === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = chosen;
  for (const watcher of [...watchers]) watcher();
}

export function setTheme(theme: Theme): void {
  chosen = theme;
  try {
    localStorage.setItem(KEY, theme);
  } catch {
    // A page that may keep nothing forgets the choice.
  }
  apply();
}

export function isDark(): boolean {
  return chosen === "system" ? system.matches : chosen === "dark";
}

/** Calls back after the colours have changed; returns how to stop that. */
export function onTheme(watcher: () => void): () => void {
  watchers.add(watcher);
  return () => watchers.delete(watcher);
}

/** The choice, and whether it is dark now: a component that draws on a canvas redraws with it. */
export function useTheme(): { theme: Theme; dark: boolean; setTheme: typeof setTheme } {
  const [, again] = useState(0);
  useEffect(() => onTheme(() => again((n) => n + 1)), []);
  return { theme: chosen, dark: isDark(), setTheme };
}

system.addEventListener("change", apply);
apply();
