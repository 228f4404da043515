-- gpu_idle: Times in which each GPU had nothing to do, longest first, and what ran before and after.
-- Row: one gap between two busy stretches of one GPU, whatever the streams. Time before its first and after its last
-- operation is no gap: how long the GPU waited there was not recorded. An operation without length is a moment of work,
-- so a gap ends at it.
-- Columns:
--   device (Utf8, none): GPU; NULL: the report names none
--   start_ns (Int64, ns (nsight clock)): when the GPU fell idle
--   end_ns (Int64, ns (nsight clock)): when it was busy again
--   idle_ns (Int64, ns): length of the gap
--   before_name (Utf8, none): operation that ended at start_ns; of several the one that began first
--   after_name (Utf8, none): operation that began at end_ns; of several the one that ended first
-- Reads: gpu_devices, gpu_trace
WITH timed AS (
  SELECT
    d.run_id,
    d.device,
    d.device_number,
    t.name,
    t.row,
    t.start_ns,
    t.start_ns + t.duration_ns AS end_ns
  -- The few GPUs first: the engine holds the left side of a join and streams the right.
  FROM gpu_devices AS d
  JOIN gpu_trace AS t ON d.run_id = t.run_id AND (d.device IS NOT DISTINCT FROM t.device)
),
swept AS (
  SELECT
    *,
    max(end_ns) OVER (
      PARTITION BY device_number ORDER BY start_ns, end_ns, row ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
    ) AS busy_until_ns
  FROM timed
),
last_to_end AS (
  -- Without the operations that end within others, the operation that a GPU was busy with until now is the row before.
  SELECT
    run_id,
    device,
    busy_until_ns,
    start_ns,
    lag(name) OVER (PARTITION BY device_number ORDER BY start_ns, end_ns, row) AS before_name,
    name AS after_name
  FROM swept
  WHERE busy_until_ns IS NULL OR end_ns > busy_until_ns
)
SELECT
  device,
  busy_until_ns AS start_ns,
  start_ns AS end_ns,
  start_ns - busy_until_ns AS idle_ns,
  before_name,
  after_name
FROM last_to_end
WHERE start_ns > busy_until_ns
ORDER BY idle_ns DESC NULLS LAST, device, busy_until_ns, run_id
