// Which row is free: the ends of the last mark in each row, as a tree.
// In: ends, in order of the marks' starts. Out: `Rows`. Left to neighbours: which rows may be asked for (host.ts).
// Most traces have a handful of rows; a file of marks that all overlap has as many rows as marks, and must open too.

export class Rows {
  private size = 16;
  /** Least and greatest end below each node; leaves begin at `size`. Row without a mark: -Infinity. */
  private least = new Float64Array(32).fill(-Infinity);
  private most = new Float64Array(32).fill(-Infinity);

  /** Puts a mark into a row. */
  set(row: number, end: number): void {
    while (row >= this.size) this.grow();
    const { least, most } = this;
    let node = this.size + row;
    least[node] = most[node] = end;
    for (node >>= 1; node > 0; node >>= 1) {
      const a = 2 * node;
      const b = a + 1;
      least[node] = least[a]! < least[b]! ? least[a]! : least[b]!;
      most[node] = most[a]! > most[b]! ? most[a]! : most[b]!;
    }
  }

  /** First row from `from` on whose last mark has ended at `time`. */
  free(from: number, time: number): number {
    if (from >= this.size) return from;
    let node = this.size + from;
    while (this.least[node]! > time) {
      // Up to the first subtree on the right, then down to its first leaf that will do.
      while (node & 1) node >>= 1;
      if (node === 0) return this.size;
      node += 1;
      if (this.least[node]! <= time) while (node < this.size) node = this.least[2 * node]! <= time ? 2 * node : 2 * node + 1;
    }
    return node - this.size;
  }

  /** Last row whose last mark goes on after `time`; -1: none. */
  lastOpen(time: number): number {
    if (this.most[1]! <= time) return -1;
    let node = 1;
    while (node < this.size) node = this.most[2 * node + 1]! > time ? 2 * node + 1 : 2 * node;
    return node - this.size;
  }

  private grow(): void {
    const { size, least } = this;
    const ends = least.slice(size, 2 * size);
    this.size = 2 * size;
    this.least = new Float64Array(2 * this.size).fill(-Infinity);
    this.most = new Float64Array(2 * this.size).fill(-Infinity);
    for (let node = 0; node < size; node++) this.least[this.size + node] = this.most[this.size + node] = ends[node]!;
    for (let node = this.size - 1; node > 0; node--) {
      this.least[node] = Math.min(this.least[2 * node]!, this.least[2 * node + 1]!);
      this.most[node] = Math.max(this.most[2 * node]!, this.most[2 * node + 1]!);
    }
  }
}
