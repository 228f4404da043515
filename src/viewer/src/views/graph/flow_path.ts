// A line through points, without corners: the curve that graphs of dagre are drawn with (a cubic B-spline).
// In: points. Out: the path of an SVG. Left to neighbours: where the points are.

export interface Point {
  x: number;
  y: number;
}

export function smooth(points: Point[]): string {
  if (points.length < 2) return "";
  const f = (n: number) => String(Math.round(n * 10) / 10);
  const first = points[0]!;
  const last = points[points.length - 1]!;
  // Upright where it leaves and where it arrives: an arrow head does not turn.
  const way = last.y >= first.y ? 1 : -1;
  const stub = Math.min(10, Math.max(3, Math.abs(last.y - first.y) / 3));
  const all = [first, { x: first.x, y: first.y + way * stub }, ...points.slice(1, -1), { x: last.x, y: last.y - way * stub }, last];
  let path = `M${f(first.x)} ${f(first.y)}`;
  let [a, b] = [all[0]!, all[1]!];
  path += `L${f((5 * a.x + b.x) / 6)} ${f((5 * a.y + b.y) / 6)}`;
  for (const c of all.slice(2)) {
    path += curve(a, b, c);
    [a, b] = [b, c];
  }
  return `${path}${curve(a, b, b)}L${f(last.x)} ${f(last.y)}`;

  function curve(p: Point, q: Point, r: Point): string {
    const parts = [
      [(2 * p.x + q.x) / 3, (2 * p.y + q.y) / 3],
      [(p.x + 2 * q.x) / 3, (p.y + 2 * q.y) / 3],
      [(p.x + 4 * q.x + r.x) / 6, (p.y + 4 * q.y + r.y) / 6],
    ];
    return `C${parts.map(([x, y]) => `${f(x!)} ${f(y!)}`).join(" ")}`;
  }
}
