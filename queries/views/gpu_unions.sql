-- gpu_unions: When each GPU was busy: its operations merged into stretches.
-- Row: one maximal stretch in which at least one operation of the GPU runs at every moment, whatever its stream;
-- operations that touch are one stretch. Stretches of one GPU neither overlap nor touch. An operation without length is
-- a moment: in a stretch it adds nothing, alone it is a stretch without length.
-- Columns:
--   run_id (Utf8, id): the run
--   device (Utf8, none): GPU; NULL: the report names none
--   start_ns (Int64, ns (nsight clock)): start of its first operation
--   end_ns (Int64, ns (nsight clock)): end of the operation that ends last
--   operations (Int64, count): operations merged
-- Reads: gpu_devices, gpu_trace
WITH timed AS (
  SELECT
    d.run_id,
    d.device,
    d.device_number,
    d.operations,
    d.last_end_ns,
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
    ) AS busy_until_ns,
    row_number() OVER (PARTITION BY device_number ORDER BY start_ns, end_ns, row) AS position
  FROM timed
),
begun AS (
  -- Of each stretch the operation that begins it; the stretch ends with what the next one says of the time before.
  SELECT
    run_id,
    device,
    start_ns,
    position,
    lead(busy_until_ns) OVER (PARTITION BY device_number ORDER BY start_ns, end_ns, row) AS next_busy_until_ns,
    lead(position) OVER (PARTITION BY device_number ORDER BY start_ns, end_ns, row) AS next_position,
    operations,
    last_end_ns
  FROM swept
  WHERE busy_until_ns IS NULL OR start_ns > busy_until_ns
)
SELECT
  run_id,
  device,
  start_ns,
  coalesce(next_busy_until_ns, last_end_ns) AS end_ns,
  coalesce(CAST(next_position AS BIGINT), operations + 1) - CAST(position AS BIGINT) AS operations
FROM begun
