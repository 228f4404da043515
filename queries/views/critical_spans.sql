-- critical_spans: The span that the measured region waits for at each moment: its critical path.
-- Row: one closed span of the region's subtree that is critical for some time, and the region itself. The region is
-- critical at each of its moments; of a critical span's children that run at a moment, the one that ends last is
-- critical too: of those that end together the one that began first, then the one with the smallest id. This is the
-- walk from the region's end back to its start, always into the child that ended last. Children are clipped to their
-- parent. A span is critical for one interval, and the intervals of two children of one span never overlap, so path_ns
-- adds up to the region's wall time exactly. A span that never closed has no row, nor has what lies below it: that time
-- is its nearest closed ancestor's. A span in a parent cycle is entered once; the records of a span id that was used
-- twice (a health error) share one row.
-- Columns:
--   run_id (Utf8, id): the run
--   span_id (Int64, id): the span
--   parent_id (Int64, id): its parent; NULL for the region
--   name (Utf8, none): label
--   kind (Utf8, none): function, op or module
--   step (Utf8, none): its own, else that of its nearest ancestor up to the region; NULL: none states one
--   depth (Int64, count): steps down from the region, which has 0
--   from_ns (Int64, ns (session clock)): when it became critical
--   to_ns (Int64, ns (session clock)): when it ceased to be
--   path_ns (Int64, ns): part of that in which no child of it is critical
-- Reads: measured_region, spans
WITH RECURSIVE critical AS (
  SELECT
    s.run_id,
    s.span_id,
    CAST(NULL AS BIGINT) AS parent_id,
    s.name,
    s.kind,
    s.step,
    CAST(0 AS BIGINT) AS depth,
    m.start_ns,
    m.end_ns,
    m.start_ns AS from_ns,
    m.end_ns AS to_ns,
    [s.span_id] AS way
  FROM measured_region AS m
  JOIN spans AS s ON m.run_id = s.run_id AND m.span_id = s.span_id
  WHERE s.measured
  UNION ALL
  -- One level down. The siblings of a level are all here, so that each is compared with those that end after it.
  SELECT
    run_id,
    span_id,
    parent_id,
    name,
    kind,
    step,
    depth,
    start_ns,
    end_ns,
    greatest(start_ns, parent_from_ns) AS from_ns,
    least(end_ns, parent_to_ns, later_from_ns) AS to_ns,
    array_append(parent_way, span_id) AS way
  FROM (
    SELECT
      *,
      -- A child is critical until the first start among those that end after it; NULL, which least passes over: none.
      min(start_ns) OVER (
        PARTITION BY run_id, parent_id ORDER BY end_ns DESC NULLS LAST, start_ns, span_id, seq
        ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
      ) AS later_from_ns
    FROM (
      SELECT
        s.run_id,
        s.span_id,
        s.parent_id,
        s.seq,
        s.name,
        s.kind,
        coalesce(s.step, c.step) AS step,
        c.depth + 1 AS depth,
        greatest(s.start_ns, c.start_ns) AS start_ns,
        least(s.start_ns + s.duration_ns, c.end_ns) AS end_ns,
        c.from_ns AS parent_from_ns,
        c.to_ns AS parent_to_ns,
        c.way AS parent_way
      FROM critical AS c
      JOIN spans AS s ON c.run_id = s.run_id AND c.span_id = s.parent_id
      WHERE s.duration_ns IS NOT NULL AND NOT array_has(c.way, s.span_id)
    ) AS child
  ) AS compared
  WHERE greatest(start_ns, parent_from_ns) < least(end_ns, parent_to_ns, later_from_ns)
),
counted AS (
  -- Each interval counts for its span and against its parent: one pass over the levels, which a join would walk twice.
  SELECT
    run_id,
    CASE WHEN sign = 1 THEN span_id ELSE parent_id END AS span_id,
    min(CASE WHEN sign = 1 THEN parent_id END) AS parent_id,
    min(CASE WHEN sign = 1 THEN name END) AS name,
    min(CASE WHEN sign = 1 THEN kind END) AS kind,
    min(CASE WHEN sign = 1 THEN step END) AS step,
    min(CASE WHEN sign = 1 THEN depth END) AS depth,
    min(CASE WHEN sign = 1 THEN from_ns END) AS from_ns,
    max(CASE WHEN sign = 1 THEN to_ns END) AS to_ns,
    CAST(sum(sign * (to_ns - from_ns)) AS BIGINT) AS path_ns
  FROM critical
  CROSS JOIN (VALUES (1), (-1)) AS side(sign)
  WHERE sign = 1 OR parent_id IS NOT NULL
  GROUP BY run_id, CASE WHEN sign = 1 THEN span_id ELSE parent_id END
)
SELECT
  run_id,
  span_id,
  parent_id,
  name,
  kind,
  step,
  depth,
  from_ns,
  to_ns,
  path_ns
FROM counted
