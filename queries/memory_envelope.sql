-- memory_envelope: Live bytes over time in at most a hundred equal buckets a run and device, to be drawn at any size.
-- Row: one bucket of one device in which a memory event of that device lies. The time from the run's first memory event
-- to its last is cut into a hundred buckets of whole nanoseconds, the same for all devices; in a bucket without a row
-- the live bytes stay what the last row left, 0 before the first. Smallest and largest count the value that a bucket
-- began with.
-- Columns:
--   start_ns (Int64, ns (session clock)): first moment of the bucket
--   end_ns (Int64, ns (session clock)): first moment after it
--   device (Utf8, none): device
--   min_live_bytes (Int64, bytes): smallest live bytes on the device in the bucket
--   max_live_bytes (Int64, bytes): largest live bytes on the device in the bucket
--   last_live_bytes (Int64, bytes): live bytes on the device at its end
-- Reads: memory
WITH seen AS (
  SELECT run_id, device, min(timestamp_ns) AS first_ns, max(timestamp_ns) AS last_ns FROM memory GROUP BY run_id, device
),
ranges AS (
  -- A number for each device: the sort below then compares integers, never text.
  SELECT
    run_id,
    device,
    row_number() OVER (ORDER BY run_id, device) AS device_id,
    min(first_ns) OVER (PARTITION BY run_id) AS first_ns,
    max(last_ns) OVER (PARTITION BY run_id) AS last_ns
  FROM seen
),
devices AS (
  -- A hundredth of the moments, rounded up. The product with 0.01 is exact; a division would not be the same integer
  -- in every engine.
  SELECT
    run_id,
    device,
    device_id,
    first_ns,
    CAST(
      CAST(last_ns - first_ns + 100 - (last_ns - first_ns) % 100 AS DECIMAL(20, 0)) * CAST(0.01 AS DECIMAL(3, 2))
    AS BIGINT) AS width_ns
  FROM ranges
),
changes AS (
  SELECT
    d.device_id,
    m.timestamp_ns,
    m.seq,
    m.timestamp_ns - (m.timestamp_ns - d.first_ns) % d.width_ns AS start_ns,
    CASE WHEN m.action = 'alloc' THEN m.bytes ELSE -m.bytes END AS delta_bytes
  -- The few devices first: the engine holds the left side of a join and streams the right.
  FROM devices AS d
  JOIN memory AS m ON d.run_id = m.run_id AND d.device = m.device
),
moved AS (
  SELECT
    device_id,
    start_ns,
    delta_bytes,
    sum(delta_bytes) OVER (
      PARTITION BY device_id ORDER BY timestamp_ns, seq ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
    ) AS live_bytes
  FROM changes
),
buckets AS (
  SELECT
    device_id,
    start_ns,
    min(least(live_bytes, live_bytes - delta_bytes)) AS min_live_bytes,
    max(greatest(live_bytes, live_bytes - delta_bytes)) AS max_live_bytes,
    sum(delta_bytes) AS change_bytes
  FROM moved
  GROUP BY device_id, start_ns
)
SELECT
  b.start_ns,
  b.start_ns + d.width_ns AS end_ns,
  d.device,
  CAST(b.min_live_bytes AS BIGINT) AS min_live_bytes,
  CAST(b.max_live_bytes AS BIGINT) AS max_live_bytes,
  CAST(
    sum(b.change_bytes) OVER (
      PARTITION BY b.device_id ORDER BY b.start_ns ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
    )
  AS BIGINT) AS last_live_bytes
FROM devices AS d
JOIN buckets AS b ON d.device_id = b.device_id
ORDER BY d.run_id, b.start_ns, d.device
