-- uncounted_work: The operations whose FLOP are not counted, by name and reason, largest share of host time first.
-- Row: one operation name and one reason of view op_work.
-- Columns:
--   name (Utf8, none): operation
--   reason (Utf8, none): unknown operation, input shapes unknown, shapes disagree or out of range
--   calls (Int64, count): executions
--   total_ns (Int64, ns): sum of host time
--   share (Float64, none): part of the host time of all operations, 0 to 1; NULL when that is 0
-- Reads: op_work
WITH grouped AS (
  SELECT name, uncounted_reason, count(*) AS calls, sum(duration_ns) AS total_ns
  FROM op_work
  GROUP BY name, uncounted_reason
),
shared AS (
  SELECT *, CAST(total_ns AS DOUBLE) / NULLIF(CAST(sum(total_ns) OVER () AS DOUBLE), 0) AS share FROM grouped
)
SELECT
  name,
  uncounted_reason AS reason,
  calls,
  CAST(total_ns AS BIGINT) AS total_ns,
  share
FROM shared
WHERE uncounted_reason IS NOT NULL
ORDER BY total_ns DESC NULLS LAST, name, reason
