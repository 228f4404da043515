// The page's own elements: the document in #cg-meta, and the text of each block.
// In: the document. Out: `readMeta`, `blockText`. Left to neighbours: decoding (decode.ts), keeping (store.ts).
// The script runs before the blocks are parsed, so that the first paint does not wait for them.

import type { Meta } from "./types";

export function readMeta(): Meta {
  const text = document.getElementById("cg-meta")?.textContent;
  if (!text) throw new Error("this page has no data: element cg-meta is missing or empty");
  return JSON.parse(text) as Meta;
}

const parsed = new Promise<void>((done) => {
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", () => done(), { once: true });
  else done();
});

/** Base64 text of a block; its element goes, because the decoded columns replace it. Null: there is none. */
export async function blockText(name: string): Promise<string | null> {
  await parsed;
  for (const element of document.querySelectorAll<HTMLScriptElement>("script.cg-block")) {
    if (element.dataset.name !== name) continue;
    const text = element.textContent ?? "";
    element.remove();
    return text.trim();
  }
  return null;
}
