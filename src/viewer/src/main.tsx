// The start of the page: draws the shell from meta before the blocks are parsed.
// In: the page. Out: the drawn page. Left to neighbours: everything else.
// A page that cannot be read says why, in place of nothing.

import { render } from "preact";
// First, so that the style sheet of a view comes after it.
import "./style.css";
import { App } from "./app";
import { store } from "./data/store";
import { printable } from "./ui/text";

const place = document.getElementById("app");
if (place) {
  try {
    void store.meta;
    render(<App />, place);
  } catch (error) {
    console.error(error);
    const message = error instanceof Error ? error.message : String(error);
    render(<p class="fatal">This page could not be read: {printable(message)}</p>, place);
  }
}
