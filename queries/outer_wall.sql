-- outer_wall: Wall time of the measured region.
-- Row: a run with exactly one measured span, closed. A run with none or several has no row.
-- Columns:
--   id (Utf8, id): the measured span
--   name (Utf8, none): label of the measured span
--   outer_wall_time_ns (Int64, ns): its wall time
-- Reads: measured_region
SELECT
  concat('s', span_id) AS id,
  name,
  duration_ns AS outer_wall_time_ns
FROM measured_region
ORDER BY run_id
