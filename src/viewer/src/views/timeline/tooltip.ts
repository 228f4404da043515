// The box beside the pointer: what a mark is.
// In: what is said of a mark (marks.ts), a place. Out: an element that follows. Left to neighbours: when it is shown.
// It is filled by text nodes and moved without a layout of the page: it changes with every movement of the pointer.

import type { Said } from "./marks";

export class Tooltip {
  private shown: Said | null = null;
  private size = { width: 0, height: 0 };

  constructor(private readonly box: HTMLElement) {}

  hide(): void {
    this.box.hidden = true;
    this.shown = null;
  }

  /** `within`: width and height of what it may cover; x and y from its corner. */
  show(said: Said, x: number, y: number, within: { width: number; height: number }): void {
    const { box } = this;
    if (this.shown !== said) {
      const rows = said.lines.map(([label, text]) => part("div", "", part("dt", label), part("dd", text)));
      const list = document.createElement("dl");
      list.append(...rows);
      const notes = said.notes.map((note) => part("p", note));
      box.replaceChildren(part("strong", said.name), part("p", said.what), list, ...notes);
      box.hidden = false;
      this.size = { width: box.offsetWidth, height: box.offsetHeight };
      this.shown = said;
    }
    const left = x + 14 + this.size.width > within.width ? Math.max(0, x - 14 - this.size.width) : x + 14;
    const below = y + 18 + this.size.height <= within.height;
    box.style.transform = `translate(${Math.round(left)}px, ${Math.round(below ? y + 18 : y - 12 - this.size.height)}px)`;
  }
}

function part(name: string, text: string, ...children: Node[]): HTMLElement {
  const element = document.createElement(name);
  if (text) element.textContent = text;
  element.append(...children);
  return element;
}
