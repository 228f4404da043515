-- spans: Every span in order of time, with total and self host time.
-- Row: one span; times are NULL for a span that never closed.
-- Parameters:
--   label (Utf8): only spans of this name; NULL: all
--   label_prefix (Utf8): only spans whose name begins so; NULL: all
-- Columns:
--   id (Utf8, id): span
--   parent_id (Utf8, id): parent; NULL for the root
--   name (Utf8, none): label
--   kind (Utf8, none): root, function, op or module
--   step (Utf8, none): forward, backward, optimizer or NULL
--   measured (Boolean, none): whether it is the measured region
--   scope (Utf8, none): measured_subtree, concurrent_overlap or outside
--   thread_id (Int64, id): thread that opened it
--   start_ns (Int64, ns (session clock)): when it opened
--   host_total_time_ns (Int64, ns): wall time
--   host_self_time_ns (Int64, ns): wall time outside its child spans
--   cpu_ns (Int64, ns): CPU time of its thread; NULL where unknown
-- Reads: span_times
SELECT
  concat('s', span_id) AS id,
  CASE WHEN parent_id IS NULL THEN NULL ELSE concat('s', parent_id) END AS parent_id,
  name,
  CASE WHEN parent_id IS NULL THEN 'root' ELSE kind END AS kind,
  step,
  measured,
  scope,
  thread_id,
  start_ns,
  total_ns AS host_total_time_ns,
  self_ns AS host_self_time_ns,
  cpu_ns
FROM span_times
WHERE ($label IS NULL OR name = $label)
  AND ($label_prefix IS NULL OR starts_with(name, $label_prefix))
ORDER BY start_ns, run_id, span_id
