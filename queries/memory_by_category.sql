-- memory_by_category: Logical memory by device and category: allocations, their peak, and their part of the peak.
-- Row: one device and category with an allocation. The category is that of the allocation, whatever its end called it.
-- Live bytes as in memory_totals; a category's own peak may lie at another moment than the peak of all devices.
-- Columns:
--   device (Utf8, none): device
--   category (Utf8, none): parameter, activation, gradient, optimizer or other
--   allocations (Int64, count): storages allocated
--   allocated_bytes (Int64, bytes): sum of their sizes
--   peak_live_bytes (Int64, bytes): largest sum of live storages of this device and category
--   live_at_peak_bytes (Int64, bytes): live when all devices and categories of the run together were at their peak
--   retained_bytes (Int64, bytes): still live at the end
-- Reads: memory, peak_moment, storage_lifetimes
WITH kinds AS (
  -- A number for each device and category: the sort below then compares integers, never text.
  SELECT
    k.run_id,
    k.device,
    k.category,
    row_number() OVER (ORDER BY k.run_id, k.device, k.category) AS kind_id,
    p.timestamp_ns AS peak_ns,
    p.seq AS peak_seq
  FROM peak_moment AS p
  JOIN (SELECT DISTINCT run_id, device, category FROM memory WHERE action = 'alloc') AS k ON p.run_id = k.run_id
),
ways AS (
  SELECT 1 AS sign
  UNION ALL
  SELECT -1 AS sign
),
events AS (
  SELECT
    k.kind_id,
    k.peak_ns,
    k.peak_seq,
    CASE WHEN w.sign = 1 THEN l.start_ns ELSE l.end_ns END AS timestamp_ns,
    CASE WHEN w.sign = 1 THEN l.alloc_seq ELSE l.end_seq END AS seq,
    w.sign * l.bytes AS delta_bytes,
    w.sign
  FROM kinds AS k
  JOIN storage_lifetimes AS l ON k.run_id = l.run_id AND k.device = l.device AND k.category = l.category
  CROSS JOIN ways AS w
  WHERE w.sign = 1 OR l.end_ns IS NOT NULL
),
moved AS (
  SELECT
    *,
    sum(delta_bytes) OVER (
      PARTITION BY kind_id ORDER BY timestamp_ns, seq ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
    ) AS live_bytes
  FROM events
),
totals AS (
  SELECT
    kind_id,
    count(CASE WHEN sign = 1 THEN 1 END) AS allocations,
    CAST(sum(CASE WHEN sign = 1 THEN delta_bytes ELSE 0 END) AS BIGINT) AS allocated_bytes,
    CAST(max(live_bytes) AS BIGINT) AS peak_live_bytes,
    CAST(
      sum(
        CASE WHEN timestamp_ns < peak_ns OR (timestamp_ns = peak_ns AND seq <= peak_seq) THEN delta_bytes ELSE 0 END
      )
    AS BIGINT) AS live_at_peak_bytes,
    CAST(sum(delta_bytes) AS BIGINT) AS retained_bytes
  FROM moved
  GROUP BY kind_id
)
SELECT
  k.device,
  k.category,
  t.allocations,
  t.allocated_bytes,
  t.peak_live_bytes,
  t.live_at_peak_bytes,
  t.retained_bytes
FROM kinds AS k
JOIN totals AS t ON k.kind_id = t.kind_id
ORDER BY k.device, k.category, k.run_id
