-- cuda_api_functions: CUDA API functions as Nsight Systems added them up, largest total host time first.
-- Row: one row of the report cuda_api_sum. Times are host times: how long the calls kept their thread, never how long a
-- GPU worked. Numbers are the report's own; a column that it lacks is NULL.
-- Columns:
--   name (Utf8, none): function, as printed
--   calls (Int64, count): calls
--   total_ns (Int64, ns): sum of their durations
--   time_percent (Float64, percent): part of the report's total time
--   mean_ns (Float64, ns): mean duration
--   median_ns (Float64, ns): median duration
--   min_ns (Int64, ns): shortest duration
--   max_ns (Int64, ns): longest duration
--   stddev_ns (Float64, ns): standard deviation of the durations
-- Reads: cuda_api
SELECT
  name,
  calls,
  total_ns,
  time_percent,
  mean_ns,
  median_ns,
  min_ns,
  max_ns,
  stddev_ns
FROM cuda_api
ORDER BY total_ns DESC NULLS LAST, name, row, run_id
