-- series_wall: Wall time of the measured region of each run, by captured step.
-- Row: one run. A run without exactly one closed measured span has a NULL wall time.
-- Columns:
--   capture_step (Int64, count): update or invocation that was captured, from 1
--   run_id (Utf8, id): the run
--   outer_wall_time_ns (Int64, ns): wall time of its measured region
-- Reads: measured_region, run
SELECT
  run.capture_step,
  run.run_id,
  measured_region.duration_ns AS outer_wall_time_ns
FROM run
LEFT JOIN measured_region ON measured_region.run_id = run.run_id
ORDER BY run.capture_step, run.run_id
