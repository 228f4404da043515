// Text of a trace on the screen: what hides, or turns text round, is shown by its number; long text is shortened.
// In: any text. Out: `printable`, `short`. Left to neighbours: putting it into text nodes, never into markup.
// The same characters as the pages of the command line show so.

const HIDDEN =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for
  /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]|[\u{e0000}-\u{e007f}]/gu;

const LINES = /\r\n?|\n/g;

export function printable(text: string): string {
  return text.replace(HIDDEN, (c) => `\\u{${c.codePointAt(0)!.toString(16)}}`);
}

/** As `printable`, for text that has lines: their ends stay. */
export function printableLines(text: string): string {
  return text.split(LINES).map(printable).join("\n");
}

/** The two ends of a text: most names say what they are at one of them. The whole belongs into the title. */
export function short(text: string, most = 64): string {
  // A name of spaces alone is a name, and has to be seen.
  const whole = text !== "" && text.trim() === "" ? `"${printable(text)}"` : printable(text);
  const letters = [...whole];
  if (letters.length <= most) return whole;
  const head = Math.ceil((most - 1) * 0.6);
  return `${letters.slice(0, head).join("")}…${letters.slice(letters.length - (most - 1 - head)).join("")}`;
}

/** Name of a column as people read it: the unit is in the cells. */
export function columnLabel(name: string): string {
  return name.replace(/_(ns|bytes)$/, "").replace(/_/g, " ");
}
