-- memory_totals: Logical memory by device: allocations, frees and the peak of what was live at once.
-- Row: one device. Live bytes rise at alloc and fall at free and end_unobserved, in order of time, then of recording;
-- the peak is the first moment of the largest value. Logical memory is what the program recorded, not what a process or
-- an allocator held.
-- Columns:
--   device (Utf8, none): device
--   storage_allocation_count (Int64, count): allocations
--   matched_storage_free_count (Int64, count): recorded frees
--   unobserved_end_count (Int64, count): storages whose end was noticed only when their address was reused
--   total_allocated_bytes (Int64, bytes): sum of all allocations
--   peak_live_bytes (Int64, bytes): largest sum of live storages
--   peak_timestamp_ns (Int64, ns (session clock)): when it was first reached
--   retained_bytes (Int64, bytes): still live at the end
-- Reads: memory
WITH devices AS (
  -- A number for each device: the sort below then compares integers, never text.
  SELECT run_id, device, row_number() OVER (ORDER BY run_id, device) AS device_id
  FROM (SELECT DISTINCT run_id, device FROM memory) AS d
),
moved AS (
  SELECT
    device_id,
    timestamp_ns,
    sum(delta_bytes) OVER (
      PARTITION BY device_id ORDER BY timestamp_ns, seq ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
    ) AS live_bytes
  FROM (
    SELECT
      d.device_id,
      m.timestamp_ns,
      m.seq,
      CASE WHEN m.action = 'alloc' THEN m.bytes ELSE -m.bytes END AS delta_bytes
    -- The few devices first: the engine holds the left side of a join and streams the right.
    FROM devices AS d
    JOIN memory AS m ON d.run_id = m.run_id AND d.device = m.device
  ) AS change
),
peaks AS (
  -- One row a device is kept while the events pass by; a maximum over whole partitions would hold them all.
  SELECT DISTINCT ON (device_id)
    device_id,
    CAST(live_bytes AS BIGINT) AS peak_live_bytes,
    timestamp_ns AS peak_timestamp_ns
  FROM moved
  ORDER BY device_id, live_bytes DESC NULLS LAST, timestamp_ns
),
totals AS (
  SELECT
    run_id,
    device,
    count(CASE WHEN action = 'alloc' THEN 1 END) AS storage_allocation_count,
    count(CASE WHEN action = 'free' THEN 1 END) AS matched_storage_free_count,
    count(CASE WHEN action = 'end_unobserved' THEN 1 END) AS unobserved_end_count,
    CAST(coalesce(sum(CASE WHEN action = 'alloc' THEN bytes END), 0) AS BIGINT) AS total_allocated_bytes,
    CAST(sum(CASE WHEN action = 'alloc' THEN bytes ELSE -bytes END) AS BIGINT) AS retained_bytes
  FROM memory
  GROUP BY run_id, device
)
SELECT
  d.device,
  t.storage_allocation_count,
  t.matched_storage_free_count,
  t.unobserved_end_count,
  t.total_allocated_bytes,
  p.peak_live_bytes,
  p.peak_timestamp_ns,
  t.retained_bytes
FROM totals AS t
JOIN devices AS d ON t.run_id = d.run_id AND t.device = d.device
JOIN peaks AS p ON d.device_id = p.device_id
ORDER BY d.device, d.run_id
