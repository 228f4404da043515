// What the page shows, in the fragment of its address: a link to a view, a selection and a zoom is a link to a place.
// In: location.hash. Out: `useRoute`, `navigate`, `href`. Left to neighbours: what a view makes of its parameters.
// A change of view drops the parameters of the view that is left, but not the selection.

import { useEffect, useState } from "preact/hooks";

export interface Route {
  view: string;
  sel?: string;
  from?: number;
  to?: number;
  q?: string;
  [param: string]: string | number | undefined;
}

export type Change = Partial<Route>;

function parse(hash: string): Route {
  const route: Route = { view: "overview" };
  for (const part of hash.replace(/^#/, "").split("&")) {
    const at = part.indexOf("=");
    if (at <= 0) continue;
    const name = decode(part.slice(0, at));
    const text = decode(part.slice(at + 1));
    if (name === "from" || name === "to") {
      const number = Number(text);
      if (text !== "" && Number.isFinite(number)) route[name] = number;
    } else if (/^[a-z][a-z0-9_]*$/.test(name)) {
      route[name] = text;
    }
  }
  return route;
}

/** A fragment that somebody cut or typed is text too. */
function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Colons and slashes stay readable: identities and labels have them. A half of a surrogate pair cannot be written. */
function encode(text: string): string {
  return encodeURIComponent(text.toWellFormed()).replace(/%3A/g, ":").replace(/%2F/g, "/");
}

function write(route: Route): string {
  const { view, ...rest } = route;
  const parts = [`view=${encode(view)}`];
  for (const [name, value] of Object.entries(rest)) {
    if (value !== undefined && value !== "") parts.push(`${name}=${encode(String(value))}`);
  }
  return `#${parts.join("&")}`;
}

function changed(route: Route, change: Change): Route {
  const leaves = change.view !== undefined && change.view !== route.view;
  const base: Route = leaves ? { view: route.view, sel: route.sel } : route;
  return { ...base, ...change } as Route;
}

let current = parse(location.hash);
const watchers = new Set<() => void>();

function tell(): void {
  for (const watcher of [...watchers]) watcher();
}

addEventListener("hashchange", () => {
  current = parse(location.hash);
  tell();
});
addEventListener("popstate", () => {
  current = parse(location.hash);
  tell();
});

export function route(): Route {
  return current;
}

/** The address of where a change leads: for links. */
export function href(change: Change): string {
  return write(changed(current, change));
}

export function navigate(change: Change, how: "push" | "replace" = "push"): void {
  const next = changed(current, change);
  const hash = write(next);
  if (hash === write(current)) return;
  current = next;
  if (how === "push") history.pushState(null, "", hash);
  else history.replaceState(null, "", hash);
  tell();
}

export function useRoute(): [Route, typeof navigate] {
  const [, again] = useState(0);
  useEffect(() => {
    const watcher = () => again((n) => n + 1);
    watchers.add(watcher);
    return () => {
      watchers.delete(watcher);
    };
  }, []);
  return [current, navigate];
}
