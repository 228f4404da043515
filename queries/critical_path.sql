-- critical_path: What the measured region's wall time is spent in: the spans of its critical path, in order of time.
-- Row: one span that the region waits for: at each moment the span reached by going, from the region down, into the
-- child that ends last of those that run. path_ns adds up to the region's wall time exactly, so this is what must
-- become shorter for the region to become shorter. Host time is never device time.
-- Columns:
--   id (Utf8, id): span
--   parent_id (Utf8, id): its parent; NULL for the region
--   name (Utf8, none): label
--   kind (Utf8, none): function, op or module
--   step (Utf8, none): its own, else that of its nearest ancestor up to the region; NULL: none states one
--   depth (Int64, count): steps down from the region, which has 0
--   from_ns (Int64, ns (session clock)): when the region began to wait for it
--   to_ns (Int64, ns (session clock)): when the region ceased to wait for it
--   path_ns (Int64, ns): part of that in which the region waits for none of its children
--   share (Float64, none): path_ns as part of the region's wall time, 0 to 1
-- Reads: critical_spans, measured_region
SELECT
  concat('s', c.span_id) AS id,
  CASE WHEN c.parent_id IS NULL THEN NULL ELSE concat('s', c.parent_id) END AS parent_id,
  c.name,
  c.kind,
  c.step,
  c.depth,
  c.from_ns,
  c.to_ns,
  c.path_ns,
  CAST(c.path_ns AS DOUBLE) / NULLIF(CAST(m.duration_ns AS DOUBLE), 0) AS share
FROM measured_region AS m
JOIN critical_spans AS c ON m.run_id = c.run_id
WHERE c.path_ns > 0
ORDER BY c.from_ns, c.depth, c.run_id, c.span_id
