-- gpu_busy: How busy each GPU was between its first and its last operation, with kernels and with copies.
-- Row: one GPU with at least one operation. Busy times are unions: what runs on several streams at once counts once. A
-- whole CUDA graph that is one operation counts as a kernel in every time and not in kernels: what ran in it is not
-- shown. Memsets and other operations make a GPU busy and are neither. GPUs are never added up.
-- Columns:
--   device (Utf8, none): GPU; NULL: the report names none
--   first_start_ns (Int64, ns (nsight clock)): start of the first operation
--   last_end_ns (Int64, ns (nsight clock)): end of the operation that ends last
--   window_ns (Int64, ns): time from the one to the other
--   busy_ns (Int64, ns): part of the window in which at least one operation ran
--   idle_ns (Int64, ns): part of the window in which none ran
--   utilisation (Float64, none): busy part of the window, 0 to 1; NULL: the window has no length
--   operations (Int64, count): operations of all kinds
--   kernels (Int64, count): executions of kernels
--   graphs (Int64, count): whole graphs that are one operation
--   copies (Int64, count): copies
--   kernel_busy_ns (Int64, ns): time in which at least one kernel or graph ran
--   copy_busy_ns (Int64, ns): time in which at least one copy ran
--   overlapped_ns (Int64, ns): part of copy_busy_ns in which a kernel or graph ran too
--   exposed_copy_ns (Int64, ns): the rest of copy_busy_ns
--   streams (Int64, count): different streams; 0: the report names none
-- Reads: gpu_devices, gpu_trace
WITH timed AS (
  -- Little is sorted: whole numbers alone, and of the kind no more than what counts here.
  SELECT
    d.device_number,
    t.start_ns,
    t.start_ns + t.duration_ns AS end_ns,
    CASE WHEN t.kind IN ('kernel', 'graph') THEN 1 WHEN t.kind = 'memcpy' THEN 2 ELSE 0 END AS part
  -- The few GPUs first: the engine holds the left side of a join and streams the right.
  FROM gpu_devices AS d
  JOIN gpu_trace AS t ON d.run_id = t.run_id AND (d.device IS NOT DISTINCT FROM t.device)
),
swept AS (
  -- Until when something of each part ran before; of what has not run yet, until the operation begins.
  SELECT
    device_number,
    start_ns,
    end_ns,
    part,
    greatest(start_ns, coalesce(max(end_ns) OVER before, start_ns)) AS busy_until_ns,
    greatest(start_ns, coalesce(max(CASE WHEN part = 1 THEN end_ns END) OVER before, start_ns)) AS kernel_until_ns,
    greatest(start_ns, coalesce(max(CASE WHEN part = 2 THEN end_ns END) OVER before, start_ns)) AS copy_until_ns
  FROM timed
  WINDOW before AS (
    PARTITION BY device_number ORDER BY start_ns, end_ns ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
  )
),
busy AS (
  -- What an operation adds to a union is the part of it beyond all that began before it. From its start on, what began
  -- before it runs without a break until the latest end: so far it is beside that.
  SELECT
    device_number,
    CAST(sum(greatest(end_ns - busy_until_ns, 0)) AS BIGINT) AS busy_ns,
    CAST(sum(CASE WHEN part = 1 THEN greatest(end_ns - kernel_until_ns, 0) ELSE 0 END) AS BIGINT) AS kernel_busy_ns,
    CAST(sum(CASE WHEN part = 2 THEN greatest(end_ns - copy_until_ns, 0) ELSE 0 END) AS BIGINT) AS copy_busy_ns,
    CAST(sum(
      CASE
        WHEN part = 1 THEN greatest(least(end_ns, copy_until_ns) - kernel_until_ns, 0)
        WHEN part = 2 THEN greatest(least(end_ns, kernel_until_ns) - copy_until_ns, 0)
        ELSE 0
      END
    ) AS BIGINT) AS overlapped_ns
  FROM swept
  GROUP BY device_number
),
streams AS (
  -- A stream's number is unique in its context.
  SELECT
    run_id,
    device,
    stream_id,
    count(CASE WHEN kind = 'kernel' THEN 1 END) AS kernels,
    count(CASE WHEN kind = 'graph' THEN 1 END) AS graphs,
    count(CASE WHEN kind = 'memcpy' THEN 1 END) AS copies
  FROM gpu_trace
  GROUP BY run_id, device, context_id, stream_id
),
counted AS (
  SELECT
    run_id,
    device,
    CAST(sum(kernels) AS BIGINT) AS kernels,
    CAST(sum(graphs) AS BIGINT) AS graphs,
    CAST(sum(copies) AS BIGINT) AS copies,
    count(stream_id) AS streams
  FROM streams
  GROUP BY run_id, device
)
SELECT
  d.device,
  d.first_start_ns,
  d.last_end_ns,
  d.last_end_ns - d.first_start_ns AS window_ns,
  b.busy_ns,
  d.last_end_ns - d.first_start_ns - b.busy_ns AS idle_ns,
  CAST(b.busy_ns AS DOUBLE) / NULLIF(CAST(d.last_end_ns - d.first_start_ns AS DOUBLE), 0) AS utilisation,
  d.operations,
  c.kernels,
  c.graphs,
  c.copies,
  b.kernel_busy_ns,
  b.copy_busy_ns,
  b.overlapped_ns,
  b.copy_busy_ns - b.overlapped_ns AS exposed_copy_ns,
  c.streams
FROM gpu_devices AS d
JOIN busy AS b ON d.device_number = b.device_number
JOIN counted AS c ON d.run_id = c.run_id AND (d.device IS NOT DISTINCT FROM c.device)
ORDER BY d.device NULLS LAST, d.run_id
