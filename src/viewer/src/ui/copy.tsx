// A text to copy: shown as it is, with a button that puts it on the clipboard.
// In: the text, what it is called. Out: `Code`. Left to neighbours: what the text says.
// Without leave to write to the clipboard the text is selected instead, so that one key copies it.

import { useRef, useState } from "preact/hooks";
import { printableLines } from "./text";

export function Code({ text, label, wrap = false }: { text: string; label: string; wrap?: boolean }) {
  const pre = useRef<HTMLPreElement>(null);
  const [done, setDone] = useState("");
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
      setDone("Copied");
    } catch {
      const range = document.createRange();
      if (pre.current) range.selectNodeContents(pre.current);
      getSelection()?.removeAllRanges();
      getSelection()?.addRange(range);
      setDone("Selected");
    }
    setTimeout(() => setDone(""), 1600);
  };
  return (
    <div class={wrap ? "code wrap" : "code"}>
      <pre ref={pre} tabIndex={0} aria-label={label} role="region">
        {printableLines(text)}
      </pre>
      <button type="button" class="quiet" onClick={copy} aria-label={`Copy ${label}`}>
        {done || "Copy"}
      </button>
      <span class="visually-hidden" role="status">
        {done}
      </span>
    </div>
  );
}
