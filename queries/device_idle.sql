-- device_idle: Idle gaps on each device clock, longest first.
-- Row: one gap between two busy stretches of one clock of one device. Time before the first and after the last interval
-- is no gap: how long the device waited there was not recorded.
-- Columns:
--   device (Utf8, none): device
--   clock_id (Utf8, id): clock of the times
--   start_ns (Int64, ns (device clock)): when the device fell idle
--   end_ns (Int64, ns (device clock)): when it was busy again
--   idle_ns (Int64, ns): length of the gap
--   before_span (Utf8, id): span that launched the interval which ended at start_ns; of several the smallest id
--   after_span (Utf8, id): span that launched the interval which began at end_ns; of several the smallest id
-- Reads: device_intervals, device_unions
WITH gaps AS (
  SELECT
    run_id,
    device,
    clock_id,
    lag(end_ns) OVER (PARTITION BY run_id, device, clock_id ORDER BY start_ns) AS idle_from_ns,
    start_ns AS idle_to_ns
  FROM device_unions
),
edged AS (
  SELECT
    g.run_id,
    g.device,
    g.clock_id,
    g.idle_from_ns,
    g.idle_to_ns,
    min(b.span_id) AS before_span,
    min(a.span_id) AS after_span
  FROM gaps AS g
  JOIN device_intervals AS b
    ON g.run_id = b.run_id AND g.device = b.device AND g.clock_id = b.clock_id
      AND g.idle_from_ns = b.start_ns + b.duration_ns
  JOIN device_intervals AS a
    ON g.run_id = a.run_id AND g.device = a.device AND g.clock_id = a.clock_id AND g.idle_to_ns = a.start_ns
  WHERE b.duration_ns > 0 AND a.duration_ns > 0
  GROUP BY g.run_id, g.device, g.clock_id, g.idle_from_ns, g.idle_to_ns
)
SELECT
  device,
  clock_id,
  idle_from_ns AS start_ns,
  idle_to_ns AS end_ns,
  idle_to_ns - idle_from_ns AS idle_ns,
  concat('s', before_span) AS before_span,
  concat('s', after_span) AS after_span
FROM edged
ORDER BY idle_ns DESC NULLS LAST, device, clock_id, start_ns, run_id
