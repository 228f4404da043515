-- gpu_kernel_summary: Kernels as Nsight Systems added them up, largest total time first.
-- Row: one row of the report cuda_gpu_kern_sum: a kernel name, with one grid and block where the report tells them
-- apart. Numbers are the report's own; a column that it lacks is NULL.
-- Columns:
--   name (Utf8, none): kernel, as printed
--   instances (Int64, count): executions
--   total_ns (Int64, ns): sum of their durations
--   time_percent (Float64, percent): part of the report's total time
--   mean_ns (Float64, ns): mean duration
--   median_ns (Float64, ns): median duration
--   min_ns (Int64, ns): shortest duration
--   max_ns (Int64, ns): longest duration
--   stddev_ns (Float64, ns): standard deviation of the durations
--   grid (List<Int64>, count): blocks of the grid in x, y and z
--   block (List<Int64>, count): threads of a block in x, y and z
-- Reads: gpu_kernels
SELECT
  name,
  instances,
  total_ns,
  time_percent,
  mean_ns,
  median_ns,
  min_ns,
  max_ns,
  stddev_ns,
  CASE WHEN grid_x IS NOT NULL THEN [grid_x, grid_y, grid_z] END AS grid,
  CASE WHEN block_x IS NOT NULL THEN [block_x, block_y, block_z] END AS block
FROM gpu_kernels
ORDER BY total_ns DESC NULLS LAST, name, row, run_id
