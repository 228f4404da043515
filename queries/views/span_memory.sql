-- span_memory: Logical memory that each span and the spans below it allocated.
-- Row: one recorded span with an allocation in it or in a span below it. allocations and allocated_bytes count the
-- span's own storages; peak_live_bytes and residual_bytes those of its whole subtree, wherever and by whom they were
-- freed. A storage freed at the very end of a span is not left by it. The work grows with the depth of the spans, at
-- worst events x depth.
-- Columns:
--   run_id (Utf8, id): the run
--   span_id (Int64, id): the span
--   allocations (Int64, count): storages allocated directly in it
--   allocated_bytes (Int64, bytes): sum of their sizes
--   peak_live_bytes (Int64, bytes): largest sum of storages of its subtree live at once
--   residual_bytes (Int64, bytes): storages of its subtree still live when it closed; NULL: it never closed
-- Reads: memory, run, spans, storage_lifetimes
WITH RECURSIVE runs AS (
  -- A number for each run: sorts and joins below then compare integers, never text.
  SELECT run_id, row_number() OVER (ORDER BY run_id) AS run_number FROM run
),
lines AS (
  -- Every span that allocates, and up from it the spans it lies in. A parent cycle is gone round once.
  SELECT DISTINCT r.run_number, m.span_id, m.span_id AS ancestor_id
  FROM runs AS r
  JOIN memory AS m ON r.run_id = m.run_id
  WHERE m.action = 'alloc'
  UNION
  SELECT l.run_number, l.span_id, s.parent_id AS ancestor_id
  FROM lines AS l
  JOIN runs AS r ON l.run_number = r.run_number
  JOIN spans AS s ON r.run_id = s.run_id AND l.ancestor_id = s.span_id
  WHERE s.parent_id IS NOT NULL
),
above AS (
  SELECT l.run_number, l.span_id, l.ancestor_id, s.start_ns + s.duration_ns AS end_ns
  FROM runs AS r
  JOIN spans AS s ON r.run_id = s.run_id
  JOIN lines AS l ON r.run_number = l.run_number AND s.span_id = l.ancestor_id
),
ways AS (
  SELECT 1 AS sign
  UNION ALL
  SELECT -1 AS sign
),
events AS (
  SELECT
    r.run_number,
    CASE WHEN w.sign = 1 THEN l.start_ns ELSE l.end_ns END AS timestamp_ns,
    CASE WHEN w.sign = 1 THEN l.alloc_seq ELSE l.end_seq END AS seq,
    l.span_id,
    w.sign,
    w.sign * l.bytes AS delta_bytes
  FROM runs AS r
  JOIN storage_lifetimes AS l ON r.run_id = l.run_id
  CROSS JOIN ways AS w
  WHERE w.sign = 1 OR l.end_ns IS NOT NULL
  UNION ALL
  -- The end of a span, after every event of its moment: no stretch below reaches across it.
  SELECT
    r.run_number,
    s.start_ns + s.duration_ns AS timestamp_ns,
    9223372036854775807 AS seq,
    NULL AS span_id,
    0 AS sign,
    0 AS delta_bytes
  FROM runs AS r
  JOIN spans AS s ON r.run_id = s.run_id
  WHERE s.duration_ns IS NOT NULL
),
ordered AS (
  SELECT
    *,
    lag(span_id) OVER (PARTITION BY run_number ORDER BY timestamp_ns, seq) AS previous_span_id,
    sum(delta_bytes) OVER (
      PARTITION BY run_number ORDER BY timestamp_ns, seq ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
    ) AS live_bytes
  FROM events
),
stretched AS (
  -- Events in a row of storages of one span are one step for every span above it: the total they start from, how high
  -- above it they rise, and where they end.
  SELECT
    *,
    sum(CASE WHEN span_id = previous_span_id THEN 0 ELSE 1 END) OVER (
      PARTITION BY run_number ORDER BY timestamp_ns, seq ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
    ) AS stretch
  FROM ordered
),
stretches AS (
  SELECT
    run_number,
    stretch,
    span_id,
    max(timestamp_ns) AS last_ns,
    max(live_bytes)
      - min(CASE WHEN span_id = previous_span_id THEN NULL ELSE live_bytes - delta_bytes END) AS rise_bytes,
    sum(delta_bytes) AS change_bytes,
    count(CASE WHEN sign = 1 THEN 1 END) AS allocations,
    sum(CASE WHEN sign = 1 THEN delta_bytes ELSE 0 END) AS allocated_bytes
  FROM stretched
  WHERE span_id IS NOT NULL
  GROUP BY run_number, stretch, span_id
),
climbed AS (
  SELECT
    a.run_number,
    a.ancestor_id,
    CASE WHEN a.ancestor_id = a.span_id THEN t.allocations ELSE 0 END AS allocations,
    CASE WHEN a.ancestor_id = a.span_id THEN t.allocated_bytes ELSE 0 END AS allocated_bytes,
    t.rise_bytes - t.change_bytes + sum(t.change_bytes) OVER (
      PARTITION BY a.run_number, a.ancestor_id ORDER BY t.stretch ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
    ) AS peak_bytes,
    CASE WHEN a.end_ns IS NULL THEN NULL WHEN t.last_ns <= a.end_ns THEN t.change_bytes ELSE 0 END AS residual_bytes
  FROM above AS a
  JOIN stretches AS t ON a.run_number = t.run_number AND a.span_id = t.span_id
),
totals AS (
  SELECT
    run_number,
    ancestor_id,
    sum(allocations) AS allocations,
    sum(allocated_bytes) AS allocated_bytes,
    max(peak_bytes) AS peak_live_bytes,
    sum(residual_bytes) AS residual_bytes
  FROM climbed
  GROUP BY run_number, ancestor_id
)
SELECT
  r.run_id,
  t.ancestor_id AS span_id,
  CAST(t.allocations AS BIGINT) AS allocations,
  CAST(t.allocated_bytes AS BIGINT) AS allocated_bytes,
  CAST(t.peak_live_bytes AS BIGINT) AS peak_live_bytes,
  CAST(t.residual_bytes AS BIGINT) AS residual_bytes
FROM runs AS r
JOIN totals AS t ON r.run_number = t.run_number
