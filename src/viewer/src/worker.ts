// The worker of the page: decodes blocks, so that the page stays free to draw.
// In: messages {id, text}. Out: messages {id, rows, columns} whose buffers are handed over, or {id, error}. Left to
// neighbours: the decoding (data/decode.ts), whoever waits (data/store.ts).
// It is bundled into the page's script as text: a page opened from disk has no second file.

import { buffers, decode } from "./data/decode";

interface Scope {
  onmessage: ((event: MessageEvent<{ id: number; text: string }>) => void) | null;
  postMessage(message: unknown, transfer?: Transferable[]): void;
}

const scope = globalThis as unknown as Scope;

scope.onmessage = async ({ data: { id, text } }) => {
  try {
    const { rows, columns } = await decode(text);
    scope.postMessage({ id, rows, columns }, buffers(columns));
  } catch (error) {
    scope.postMessage({ id, error: error instanceof Error ? error.message : String(error) });
  }
};
