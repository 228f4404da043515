-- cohort_ops: Host time of each kind of operation in each of many runs.
-- Row: one combination of name, output shape and dtype in one run, over the operations recorded in its measured region.
-- Times are host times as the program measured them: launch time for an asynchronous device.
-- Columns:
--   name (Utf8, none): operation
--   shape (List<Int64>, count): output shape
--   dtype (Utf8, none): output element type
--   run_id (Utf8, id): the run
--   calls (Int64, count): executions
--   total_ns (Int64, ns): sum of host time
-- Reads: ops, span_scopes
SELECT
  o.name,
  o.shape,
  o.dtype,
  o.run_id,
  count(*) AS calls,
  CAST(sum(o.duration_ns) AS BIGINT) AS total_ns
FROM span_scopes AS s
JOIN ops AS o ON s.run_id = o.run_id AND s.span_id = o.span_id
WHERE s.scope = 'measured_subtree'
GROUP BY o.run_id, o.name, o.shape, o.dtype
ORDER BY o.name, o.shape, o.dtype, o.run_id
