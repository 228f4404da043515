-- span_scopes: How each span lies to the measured region of its run.
-- Row: one span. measured_subtree: the measured span or a descendant of it. concurrent_overlap: neither that nor an
-- ancestor, closed, and sharing time with the region. outside: everything else, and every span of a run without a
-- region. Spans in a parent cycle are visited once.
-- Columns:
--   run_id (Utf8, id): the run
--   span_id (Int64, id): the span
--   scope (Utf8, none): measured_subtree, concurrent_overlap or outside
-- Reads: measured_region, spans
WITH RECURSIVE subtree AS (
  SELECT run_id, span_id FROM measured_region
  UNION
  SELECT s.run_id, s.span_id
  FROM spans AS s
  JOIN subtree AS t ON s.run_id = t.run_id AND s.parent_id = t.span_id
),
ancestors AS (
  SELECT run_id, span_id FROM measured_region
  UNION
  SELECT s.run_id, s.parent_id AS span_id
  FROM spans AS s
  JOIN ancestors AS a ON s.run_id = a.run_id AND s.span_id = a.span_id
  WHERE s.parent_id IS NOT NULL
)
SELECT
  s.run_id,
  s.span_id,
  CASE
    WHEN t.span_id IS NOT NULL THEN 'measured_subtree'
    WHEN a.span_id IS NULL AND s.start_ns < m.end_ns AND s.start_ns + s.duration_ns > m.start_ns
      THEN 'concurrent_overlap'
    ELSE 'outside'
  END AS scope
FROM spans AS s
LEFT JOIN measured_region AS m ON s.run_id = m.run_id
LEFT JOIN subtree AS t ON s.run_id = t.run_id AND s.span_id = t.span_id
LEFT JOIN ancestors AS a ON s.run_id = a.run_id AND s.span_id = a.span_id
