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
WITH moved AS (
  SELECT
    run_id,
    device,
    timestamp_ns,
    seq,
    action,
    bytes,
    sum(CASE WHEN action = 'alloc' THEN bytes ELSE -bytes END) OVER (
      PARTITION BY run_id, device ORDER BY timestamp_ns, seq ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
    ) AS live_bytes
  FROM memory
),
peak AS (
  SELECT run_id, device, max(live_bytes) AS live_bytes FROM moved GROUP BY run_id, device
)
SELECT
  m.device,
  count(CASE WHEN m.action = 'alloc' THEN 1 END) AS storage_allocation_count,
  count(CASE WHEN m.action = 'free' THEN 1 END) AS matched_storage_free_count,
  count(CASE WHEN m.action = 'end_unobserved' THEN 1 END) AS unobserved_end_count,
  CAST(coalesce(sum(CASE WHEN m.action = 'alloc' THEN m.bytes END), 0) AS BIGINT) AS total_allocated_bytes,
  CAST(max(p.live_bytes) AS BIGINT) AS peak_live_bytes,
  min(CASE WHEN m.live_bytes = p.live_bytes THEN m.timestamp_ns END) AS peak_timestamp_ns,
  CAST(sum(CASE WHEN m.action = 'alloc' THEN m.bytes ELSE -m.bytes END) AS BIGINT) AS retained_bytes
FROM moved AS m
JOIN peak AS p ON m.run_id = p.run_id AND m.device = p.device
GROUP BY m.run_id, m.device
ORDER BY m.device, m.run_id
