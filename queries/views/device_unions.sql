-- device_unions: When each device clock was busy: its intervals merged into stretches.
-- Row: one maximal stretch in which at least one interval of the clock runs at every moment; intervals that touch are
-- one stretch. Stretches of one clock neither overlap nor touch. Times of different clocks are never compared, and
-- never with host times. An interval without length (a health error) covers nothing and is left out.
-- Columns:
--   run_id (Utf8, id): the run
--   device (Utf8, none): device
--   clock_id (Utf8, id): clock of the times
--   start_ns (Int64, ns (device clock)): start of its first interval
--   end_ns (Int64, ns (device clock)): end of the interval that ends last
--   intervals (Int64, count): intervals merged
-- Reads: device_intervals
WITH clocks AS (
  -- A number for each clock: the sort below then compares integers, never text.
  SELECT run_id, device, clock_id, row_number() OVER (ORDER BY run_id, device, clock_id) AS clock_number
  FROM (SELECT DISTINCT run_id, device, clock_id FROM device_intervals) AS d
),
swept AS (
  SELECT
    *,
    max(end_ns) OVER (
      PARTITION BY clock_number ORDER BY start_ns, end_ns ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
    ) AS busy_until_ns
  FROM (
    SELECT
      c.clock_number,
      i.start_ns,
      i.start_ns + i.duration_ns AS end_ns
    -- The few clocks first: the engine holds the left side of a join and streams the right.
    FROM clocks AS c
    JOIN device_intervals AS i ON c.run_id = i.run_id AND c.device = i.device AND c.clock_id = i.clock_id
    WHERE i.duration_ns > 0
  ) AS timed
),
numbered AS (
  SELECT
    *,
    sum(CASE WHEN start_ns > busy_until_ns THEN 1 ELSE 0 END) OVER (
      PARTITION BY clock_number ORDER BY start_ns, end_ns ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
    ) AS stretch
  FROM swept
),
merged AS (
  SELECT
    clock_number,
    min(start_ns) AS start_ns,
    max(end_ns) AS end_ns,
    count(*) AS intervals
  FROM numbered
  GROUP BY clock_number, stretch
)
SELECT
  c.run_id,
  c.device,
  c.clock_id,
  m.start_ns,
  m.end_ns,
  m.intervals
FROM clocks AS c
JOIN merged AS m ON c.clock_number = m.clock_number
