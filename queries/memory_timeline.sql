-- memory_timeline: Every beginning and end of a storage in order of time, with what was live after it.
-- Row: one alloc, free or end_unobserved of a storage of storage_lifetimes; an event that pairs with nothing (a health
-- error) has no row. Category and size are those of the allocation, whatever its end called them, so that no sum of
-- live bytes falls below zero. Events of one moment come in the order of recording; runs follow each other.
-- Columns:
--   timestamp_ns (Int64, ns (session clock)): when it happened
--   action (Utf8, none): alloc, free or end_unobserved
--   storage_id (Utf8, id): storage
--   device (Utf8, none): device
--   category (Utf8, none): parameter, activation, gradient, optimizer or other
--   delta_bytes (Int64, bytes): what it added to the live bytes; negative for an end
--   live_bytes (Int64, bytes): live after it, on all devices of the run
--   device_live_bytes (Int64, bytes): live after it on its device
--   category_live_bytes (Int64, bytes): live after it in its category, on all devices of the run
-- Reads: memory, run, storage_lifetimes
WITH runs AS (
  -- Numbers for runs and devices: the sorts below then compare integers, never text.
  SELECT run_id, row_number() OVER (ORDER BY run_id) AS run_number FROM run
),
devices AS (
  SELECT d.run_id, d.device, r.run_number, row_number() OVER (ORDER BY d.run_id, d.device) AS device_id
  FROM runs AS r
  JOIN (SELECT DISTINCT run_id, device FROM memory) AS d ON r.run_id = d.run_id
),
ways AS (
  SELECT 1 AS sign
  UNION ALL
  SELECT -1 AS sign
),
events AS (
  SELECT
    d.run_number,
    d.device_id,
    CASE WHEN w.sign = 1 THEN l.start_ns ELSE l.end_ns END AS timestamp_ns,
    CASE WHEN w.sign = 1 THEN l.alloc_seq ELSE l.end_seq END AS seq,
    CASE WHEN w.sign = 1 THEN 'alloc' WHEN l.ending = 'freed' THEN 'free' ELSE l.ending END AS action,
    l.storage_id,
    l.device,
    l.category,
    w.sign * l.bytes AS delta_bytes
  FROM devices AS d
  JOIN storage_lifetimes AS l ON d.run_id = l.run_id AND d.device = l.device
  CROSS JOIN ways AS w
  WHERE w.sign = 1 OR l.end_ns IS NOT NULL
),
on_device AS (
  SELECT
    *,
    sum(delta_bytes) OVER (
      PARTITION BY device_id ORDER BY timestamp_ns, seq ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
    ) AS device_live_bytes
  FROM events
),
in_run AS (
  -- The five categories are sums over one order; a partition for each would need a third sort.
  SELECT
    *,
    sum(delta_bytes) OVER so_far AS live_bytes,
    sum(CASE WHEN category = 'parameter' THEN delta_bytes ELSE 0 END) OVER so_far AS parameter_bytes,
    sum(CASE WHEN category = 'activation' THEN delta_bytes ELSE 0 END) OVER so_far AS activation_bytes,
    sum(CASE WHEN category = 'gradient' THEN delta_bytes ELSE 0 END) OVER so_far AS gradient_bytes,
    sum(CASE WHEN category = 'optimizer' THEN delta_bytes ELSE 0 END) OVER so_far AS optimizer_bytes,
    sum(CASE WHEN category = 'other' THEN delta_bytes ELSE 0 END) OVER so_far AS other_bytes
  FROM on_device
  WINDOW so_far AS (
    PARTITION BY run_number ORDER BY timestamp_ns, seq ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
  )
)
SELECT
  timestamp_ns,
  action,
  storage_id,
  device,
  category,
  delta_bytes,
  CAST(live_bytes AS BIGINT) AS live_bytes,
  CAST(device_live_bytes AS BIGINT) AS device_live_bytes,
  CAST(
    CASE category
      WHEN 'parameter' THEN parameter_bytes
      WHEN 'activation' THEN activation_bytes
      WHEN 'gradient' THEN gradient_bytes
      WHEN 'optimizer' THEN optimizer_bytes
      WHEN 'other' THEN other_bytes
    END
  AS BIGINT) AS category_live_bytes
FROM in_run
ORDER BY run_number, timestamp_ns, seq
