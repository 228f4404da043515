-- call_edges: The call hierarchy as edges: each closed span under its parent.
-- Row: one closed span with a parent.
-- Columns:
--   kind (Utf8, none): call
--   from_span (Utf8, id): parent
--   to_span (Utf8, id): child
--   host_duration_ns (Int64, ns): the child's wall time
-- Reads: spans
SELECT
  'call' AS kind,
  concat('s', parent_id) AS from_span,
  concat('s', span_id) AS to_span,
  duration_ns AS host_duration_ns
FROM spans
WHERE parent_id IS NOT NULL AND duration_ns IS NOT NULL
ORDER BY start_ns, run_id, span_id
