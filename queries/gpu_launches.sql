-- gpu_launches: Which functions of the CUDA API caused GPU work, and how much each call caused.
-- Row: one function with at least one call that names GPU operations by its correlation id. A CUDA graph launch is one
-- call that owns many operations, or one opaque row where its nodes were not traced. Ambiguous calls are left out.
-- Columns:
--   function (Utf8, none): the function, as printed
--   calls (Int64, count): calls that caused GPU work
--   operations (Int64, count): GPU operations that they caused
--   most_operations (Int64, count): most operations of one call
--   graph_rows (Int64, count): operations that are a whole CUDA graph as one row
--   graph_calls (Int64, count): calls that launch a CUDA graph, by the function's name
--   gpu_time_ns (Int64, ns): sum of the operations' durations
--   host_ns (Int64, ns): sum of the time the host was in the calls
-- Reads: gpu_calls
SELECT
  function,
  count(*) AS calls,
  CAST(sum(operations) AS BIGINT) AS operations,
  max(operations) AS most_operations,
  CAST(sum(graphs) AS BIGINT) AS graph_rows,
  count(CASE WHEN strpos(function, 'GraphLaunch') > 0 THEN 1 END) AS graph_calls,
  CAST(sum(gpu_time_ns) AS BIGINT) AS gpu_time_ns,
  CAST(sum(duration_ns) AS BIGINT) AS host_ns
FROM gpu_calls
WHERE NOT ambiguous
GROUP BY run_id, function
ORDER BY host_ns DESC NULLS LAST, calls DESC NULLS LAST, function, run_id
