// What a tensor is for, where the memory of the trace says so: a parameter, an activation, its size.
// In: block lifetimes, if there is one. Out: `useCategories`. Left to neighbours: drawing.

import { useMemo } from "preact/hooks";
import { useTable } from "../../data/store";

export interface TensorFacts {
  category: string | null;
  bytes: number | null;
  storage: string | null;
}

export function useCategories(): Map<string, TensorFacts> {
  const { table } = useTable("lifetimes");
  return useMemo(() => {
    const facts = new Map<string, TensorFacts>();
    if (!table?.has("tensor_ids")) return facts;
    for (let row = 0; row < table.rows; row++) {
      const ids = table.string("tensor_ids", row);
      if (!ids) continue;
      const fact = {
        category: table.string("category", row),
        bytes: table.number("bytes", row),
        storage: table.string("storage_id", row),
      };
      for (const id of ids.split(", ")) if (!facts.has(id)) facts.set(id, fact);
    }
    return facts;
  }, [table]);
}
