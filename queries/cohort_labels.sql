-- cohort_labels: Host time of each label in each of many runs.
-- Row: one span name in one run, over the closed spans of its measured region: the region itself and everything below it.
-- Self times add up to the region's wall time where no siblings overlap. Host time is never device time.
-- Columns:
--   label (Utf8, none): span name
--   run_id (Utf8, id): the run
--   calls (Int64, count): spans
--   measured_ns (Int64, ns): sum of wall time inside the measured region; a span inside another of its name counts again
--   measured_self_ns (Int64, ns): sum of wall time there outside child spans
-- Reads: span_times
SELECT
  name AS label,
  run_id,
  count(*) AS calls,
  CAST(sum(measured_ns) AS BIGINT) AS measured_ns,
  CAST(sum(measured_self_ns) AS BIGINT) AS measured_self_ns
FROM span_times
WHERE scope = 'measured_subtree' AND measured_ns IS NOT NULL
GROUP BY run_id, name
ORDER BY label, run_id
