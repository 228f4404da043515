-- op_names: Totals of the executed operations by name, largest total host time first.
-- Row: one operation name over all shapes, dtypes and devices. The share is of the sum over all operations: it is no
-- share of wall time, because operations of several threads overlap.
-- Columns:
--   name (Utf8, none): operation
--   calls (Int64, count): executions
--   total_ns (Int64, ns): sum of host time
--   share (Float64, none): part of the host time of all operations, 0 to 1; NULL when that is 0
--   cpu_ns (Int64, ns): sum of thread CPU time where measured; NULL where never
-- Reads: ops
SELECT
  name,
  count(*) AS calls,
  CAST(sum(duration_ns) AS BIGINT) AS total_ns,
  CAST(sum(duration_ns) AS DOUBLE) / NULLIF(CAST(sum(sum(duration_ns)) OVER () AS DOUBLE), 0) AS share,
  CAST(sum(cpu_ns) AS BIGINT) AS cpu_ns
FROM ops
GROUP BY name
ORDER BY total_ns DESC NULLS LAST, name
