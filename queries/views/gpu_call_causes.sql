-- gpu_call_causes: API calls that caused GPU work, each with what it has to do with the labels of the program.
-- Row: one row of gpu_calls.
-- Columns:
--   run_id (Utf8, id): the run
--   run_number (Int64, id): the run as a number, as in gpu_calls
--   correlation_id (Int64, id): names its operations
--   cause_number (Int64, none): 1, attributed: the call began in a range with a label of the program; 2, outside: in no
--     such range; 3, ambiguous: calls of several threads have the correlation id
--   operations (Int64, count): GPU operations that it caused
--   gpu_time_ns (Int64, ns): sum of their durations
-- Reads: gpu_call_places, label_covers
WITH covers AS (
  SELECT anchor_number, max(end_ns) AS end_ns
  FROM label_covers
  GROUP BY anchor_number
)
SELECT
  p.run_id,
  p.run_number,
  p.correlation_id,
  CAST(CASE WHEN p.ambiguous THEN 3 WHEN p.start_ns < c.end_ns THEN 1 ELSE 2 END AS BIGINT) AS cause_number,
  p.operations,
  p.gpu_time_ns
FROM covers AS c
RIGHT JOIN gpu_call_places AS p ON c.anchor_number = p.anchor_number
