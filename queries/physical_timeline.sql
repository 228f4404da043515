-- physical_timeline: Physical memory checkpoints in order of time, each beside the logical bytes live then.
-- Row: one checkpoint. Physical memory is what a process, allocator or device held, logical memory what the program
-- recorded of its storages under the same device name (for the checkpoints of the process itself, `process`, those on
-- cpu): two facts, of which only the difference is taken. It may be negative, where the checkpoint does not see the
-- memory that the storages are in.
-- Columns:
--   timestamp_ns (Int64, ns (session clock)): when it was read
--   device (Utf8, none): device or allocator
--   used_bytes (Int64, bytes): in use; NULL: not given
--   free_bytes (Int64, bytes): free; NULL: not given
--   reserved_bytes (Int64, bytes): reserved by the allocator; NULL: not given
--   capacity_bytes (Int64, bytes): what the device has; NULL: not given
--   logical_live_bytes (Int64, bytes): live storages of the device then; NULL: no logical memory was recorded on it
--   unexplained_bytes (Int64, bytes): used_bytes - logical_live_bytes: in use beyond what was recorded
-- Reads: device_memory, memory
WITH sampled AS (
  -- A number for each device with a checkpoint: only its memory is sorted, and by integers.
  SELECT
    run_id,
    device,
    -- What a process holds is compared with the storages of the host's memory.
    CASE WHEN device = 'process' THEN 'cpu' ELSE device END AS logical_device,
    last_ns,
    row_number() OVER (ORDER BY run_id, device) AS device_id
  FROM (SELECT run_id, device, max(timestamp_ns) AS last_ns FROM device_memory GROUP BY run_id, device) AS d
),
recorded AS (
  SELECT s.device_id
  FROM sampled AS s
  JOIN memory AS m ON s.run_id = m.run_id AND s.logical_device = m.device
  GROUP BY s.device_id
),
events AS (
  SELECT s.device_id, m.timestamp_ns, m.seq, CASE WHEN m.action = 'alloc' THEN m.bytes ELSE -m.bytes END AS delta_bytes
  FROM sampled AS s
  JOIN memory AS m ON s.run_id = m.run_id AND s.logical_device = m.device
  WHERE m.timestamp_ns <= s.last_ns
  UNION ALL
  SELECT s.device_id, c.timestamp_ns, c.seq, NULL AS delta_bytes
  FROM sampled AS s
  JOIN device_memory AS c ON s.run_id = c.run_id AND s.device = c.device
),
moved AS (
  SELECT
    device_id,
    seq,
    delta_bytes,
    sum(delta_bytes) OVER (
      PARTITION BY device_id ORDER BY timestamp_ns, seq ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
    ) AS live_bytes
  FROM events
),
beside AS (
  SELECT
    s.run_id,
    v.seq,
    -- Before the first event of a device nothing is live, which is known where the device has events at all.
    CASE WHEN r.device_id IS NOT NULL THEN CAST(coalesce(v.live_bytes, 0) AS BIGINT) END AS logical_live_bytes
  FROM sampled AS s
  JOIN moved AS v ON s.device_id = v.device_id
  LEFT JOIN recorded AS r ON s.device_id = r.device_id
  WHERE v.delta_bytes IS NULL
)
SELECT
  c.timestamp_ns,
  c.device,
  c.used_bytes,
  c.free_bytes,
  c.reserved_bytes,
  c.capacity_bytes,
  b.logical_live_bytes,
  c.used_bytes - b.logical_live_bytes AS unexplained_bytes
FROM beside AS b
JOIN device_memory AS c ON b.run_id = c.run_id AND b.seq = c.seq
ORDER BY c.timestamp_ns, c.run_id, c.seq
