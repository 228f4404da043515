-- op_device_times: How long each clock was busy for an operation that has a span of its own.
-- Row: one clock of the device intervals recorded in a span of kind op in which exactly one operation was recorded.
-- Busy time is the union of the intervals: overlapping streams count once, and clocks are never added. Device time of
-- any other span belongs to no single operation. An interval without length (a health error) is left out.
-- Columns:
--   run_id (Utf8, id): the run
--   span_id (Int64, id): the span
--   device (Utf8, none): device of the intervals
--   clock_id (Utf8, id): clock of the intervals
--   busy_ns (Int64, ns): union of the intervals
--   interval_count (Int64, count): intervals
--   streams (List<Utf8>, id): streams they ran on, sorted
--   backends (List<Utf8>, none): what measured them, sorted
-- Reads: device_intervals, ops, spans
WITH timed AS (
  SELECT s.run_id, s.span_id
  FROM (SELECT DISTINCT run_id, span_id FROM device_intervals WHERE duration_ns > 0) AS i
  JOIN spans AS s ON i.run_id = s.run_id AND i.span_id = s.span_id
  WHERE s.kind = 'op'
),
dedicated AS (
  SELECT t.run_id, t.span_id
  FROM timed AS t
  JOIN ops AS o ON t.run_id = o.run_id AND t.span_id = o.span_id
  GROUP BY t.run_id, t.span_id
  HAVING count(*) = 1
),
swept AS (
  SELECT
    i.*,
    i.start_ns + i.duration_ns AS end_ns,
    greatest(
      i.start_ns,
      coalesce(
        max(i.start_ns + i.duration_ns) OVER (
          PARTITION BY i.run_id, i.span_id, i.device, i.clock_id ORDER BY i.start_ns, i.seq
          ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ),
        i.start_ns
      )
    ) AS new_from_ns
  FROM dedicated AS d
  JOIN device_intervals AS i ON d.run_id = i.run_id AND d.span_id = i.span_id
  WHERE i.duration_ns > 0
)
SELECT
  run_id,
  span_id,
  device,
  clock_id,
  CAST(sum(greatest(end_ns - new_from_ns, 0)) AS BIGINT) AS busy_ns,
  count(*) AS interval_count,
  array_sort(array_agg(DISTINCT stream_id)) AS streams,
  array_sort(array_agg(DISTINCT backend)) AS backends
FROM swept
GROUP BY run_id, span_id, device, clock_id
