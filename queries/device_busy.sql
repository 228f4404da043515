-- device_busy: How busy each device was on each of its clocks, and between its first and last interval how idle.
-- Row: one clock of one device with at least one interval; an interval without length (a health error) is left out.
-- Busy time is the union of the clock's intervals, so work on several streams at once counts once; it is never added
-- over clocks. The summed time counts it once a stream: divided by the busy time it is the mean number of intervals
-- that ran together.
-- Columns:
--   device (Utf8, none): device
--   clock_id (Utf8, id): clock of the times
--   intervals (Int64, count): intervals
--   streams (Int64, count): different streams
--   spans (Int64, count): different spans that launched them
--   busy_ns (Int64, ns): time in which at least one interval ran
--   summed_ns (Int64, ns): sum of the intervals' lengths
--   first_ns (Int64, ns (device clock)): start of the first interval
--   last_ns (Int64, ns (device clock)): end of the interval that ends last
--   window_ns (Int64, ns): time from first_ns to last_ns
--   idle_ns (Int64, ns): part of the window in which none ran
--   utilisation (Float64, none): busy part of the window, 0 to 1
--   backends (List<Utf8>, none): what measured the intervals, in alphabetical order
-- Reads: device_intervals, device_unions
WITH merged AS (
  SELECT
    run_id,
    device,
    clock_id,
    CAST(sum(end_ns - start_ns) AS BIGINT) AS busy_ns,
    min(start_ns) AS first_ns,
    max(end_ns) AS last_ns
  FROM device_unions
  GROUP BY run_id, device, clock_id
),
recorded AS (
  SELECT
    run_id,
    device,
    clock_id,
    count(*) AS intervals,
    count(DISTINCT stream_id) AS streams,
    count(DISTINCT span_id) AS spans,
    CAST(sum(duration_ns) AS BIGINT) AS summed_ns,
    array_sort(array_agg(DISTINCT backend)) AS backends
  FROM device_intervals
  WHERE duration_ns > 0
  GROUP BY run_id, device, clock_id
)
SELECT
  m.device,
  m.clock_id,
  r.intervals,
  r.streams,
  r.spans,
  m.busy_ns,
  r.summed_ns,
  m.first_ns,
  m.last_ns,
  m.last_ns - m.first_ns AS window_ns,
  m.last_ns - m.first_ns - m.busy_ns AS idle_ns,
  CAST(m.busy_ns AS DOUBLE) / NULLIF(CAST(m.last_ns - m.first_ns AS DOUBLE), 0) AS utilisation,
  r.backends
FROM merged AS m
JOIN recorded AS r ON m.run_id = r.run_id AND m.device = r.device AND m.clock_id = r.clock_id
ORDER BY m.device, m.clock_id, m.run_id
