-- slowest_device: Device time of each span, longest first.
-- Row: one span on one clock of one device; a span that launched work on two clocks has two rows, which are never
-- added. Busy time is the union of the intervals that the span itself launched, without those of its children, so work
-- on several streams at once counts once. Device time is never host time. An interval without length (a health error)
-- is left out.
-- Parameters:
--   label (Utf8): only spans of this name; NULL: all
--   label_prefix (Utf8): only spans whose name begins so; NULL: all
-- Columns:
--   id (Utf8, id): span
--   name (Utf8, none): label; NULL where the span was not recorded
--   device (Utf8, none): device
--   clock_id (Utf8, id): clock of the times
--   device_busy_ns (Int64, ns): time in which at least one of its intervals ran
--   interval_count (Int64, count): its intervals
--   streams (List<Utf8>, id): streams they ran on, in alphabetical order
--   backends (List<Utf8>, none): what measured them, in alphabetical order
-- Reads: device_intervals, spans
WITH clocks AS (
  -- A number for each clock: the sort below then compares integers, never text.
  SELECT run_id, device, clock_id, row_number() OVER (ORDER BY run_id, device, clock_id) AS clock_number
  FROM (SELECT DISTINCT run_id, device, clock_id FROM device_intervals) AS d
),
swept AS (
  SELECT
    *,
    max(end_ns) OVER (
      PARTITION BY clock_number, span_id ORDER BY start_ns, end_ns ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
    ) AS busy_until_ns
  FROM (
    SELECT
      c.clock_number,
      i.span_id,
      i.start_ns,
      i.start_ns + i.duration_ns AS end_ns,
      i.stream_id,
      i.backend
    -- The few clocks first: the engine holds the left side of a join and streams the right.
    FROM clocks AS c
    JOIN device_intervals AS i ON c.run_id = i.run_id AND c.device = i.device AND c.clock_id = i.clock_id
    WHERE i.duration_ns > 0
  ) AS timed
),
busy AS (
  SELECT
    clock_number,
    span_id,
    CAST(sum(greatest(end_ns - greatest(start_ns, coalesce(busy_until_ns, start_ns)), 0)) AS BIGINT) AS device_busy_ns,
    count(*) AS interval_count,
    -- Over many groups array_agg(DISTINCT …) takes thirty times as long.
    array_sort(array_distinct(array_agg(stream_id))) AS streams,
    array_sort(array_distinct(array_agg(backend))) AS backends
  FROM swept
  GROUP BY clock_number, span_id
)
SELECT
  concat('s', b.span_id) AS id,
  s.name,
  c.device,
  c.clock_id,
  b.device_busy_ns,
  b.interval_count,
  b.streams,
  b.backends
FROM clocks AS c
JOIN busy AS b ON c.clock_number = b.clock_number
LEFT JOIN spans AS s ON c.run_id = s.run_id AND b.span_id = s.span_id
WHERE ($label IS NULL OR s.name = $label)
  AND ($label_prefix IS NULL OR starts_with(s.name, $label_prefix))
ORDER BY b.device_busy_ns DESC NULLS LAST, c.run_id, b.span_id, c.device, c.clock_id
