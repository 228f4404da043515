-- gpu_devices: GPUs of the timeline, each with a number, its operations and the time they span.
-- Row: one GPU with at least one operation. Where the report names no device, all its operations are taken for those of
-- one GPU. The number stands for run and device where many operations are sorted or joined: integers are compared then,
-- never text.
-- Columns:
--   run_id (Utf8, id): the run
--   device (Utf8, none): GPU; NULL: the report names none
--   device_number (Int64, id): the run's GPU as a number, from 1; it depends on the other runs
--   operations (Int64, count): operations of all kinds
--   first_start_ns (Int64, ns (nsight clock)): start of the first operation
--   last_end_ns (Int64, ns (nsight clock)): end of the operation that ends last
-- Reads: gpu_trace
SELECT
  run_id,
  device,
  CAST(row_number() OVER (ORDER BY run_id, device) AS BIGINT) AS device_number,
  operations,
  first_start_ns,
  last_end_ns
FROM (
  SELECT
    run_id,
    device,
    count(*) AS operations,
    min(start_ns) AS first_start_ns,
    max(start_ns + duration_ns) AS last_end_ns
  FROM gpu_trace
  GROUP BY run_id, device
) AS d
