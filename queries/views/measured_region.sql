-- measured_region: The measured region of each run.
-- Row: a run with exactly one measured span, closed. A run with none or several has no row: its region is unknown.
-- Columns:
--   run_id (Utf8, id): the run
--   span_id (Int64, id): the measured span
--   name (Utf8, none): its name
--   start_ns (Int64, ns (session clock)): when it opened
--   end_ns (Int64, ns (session clock)): when it closed
--   duration_ns (Int64, ns): outer wall time
-- Reads: spans
SELECT
  run_id,
  min(span_id) AS span_id,
  min(name) AS name,
  min(start_ns) AS start_ns,
  min(start_ns + duration_ns) AS end_ns,
  min(duration_ns) AS duration_ns
FROM spans
WHERE measured
GROUP BY run_id
HAVING count(*) = 1 AND count(duration_ns) = 1
