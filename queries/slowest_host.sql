-- slowest_host: Host spans of the measured scope, longest self time inside the measured region first.
-- Row: one closed span of any kind that is in the measured region's subtree or overlaps it. Rows of scope
-- concurrent_overlap ran beside the region and are never added to its wall time. Host time is never device time.
-- Parameters:
--   label (Utf8): only spans of this name; NULL: all
--   label_prefix (Utf8): only spans whose name begins so; NULL: all
-- Columns:
--   id (Utf8, id): span
--   name (Utf8, none): label
--   kind (Utf8, none): function, op or module
--   scope (Utf8, none): measured_subtree or concurrent_overlap
--   full_duration_ns (Int64, ns): wall time
--   host_self_time_ns (Int64, ns): wall time outside its child spans
--   measured_overlap_duration_ns (Int64, ns): wall time inside the measured region
--   measured_overlap_self_time_ns (Int64, ns): self time inside the measured region
--   cpu_ns (Int64, ns): CPU time of its thread; NULL where unknown
--   start_ns (Int64, ns (session clock)): when it opened
-- Reads: span_times
SELECT
  concat('s', span_id) AS id,
  name,
  kind,
  scope,
  total_ns AS full_duration_ns,
  self_ns AS host_self_time_ns,
  measured_ns AS measured_overlap_duration_ns,
  measured_self_ns AS measured_overlap_self_time_ns,
  cpu_ns,
  start_ns
FROM span_times
WHERE scope <> 'outside' AND total_ns IS NOT NULL
  AND ($label IS NULL OR name = $label)
  AND ($label_prefix IS NULL OR starts_with(name, $label_prefix))
ORDER BY measured_overlap_self_time_ns DESC NULLS LAST, start_ns, run_id, span_id
