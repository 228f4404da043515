-- gpu_hotspots: Kernels by the GPU time that all their executions take, largest first.
-- Row: one kernel name of the GPU timeline, over all GPUs and streams. Times are those of the device, added up whether
-- or not kernels ran side by side: as busy time they would count twice. Percentiles are exact: the duration at the
-- rank, or between two ranks their linear interpolation. Kernels inside a graph that is one operation are not shown.
-- Columns:
--   name (Utf8, none): kernel, as printed
--   kernels (Int64, count): executions
--   total_ns (Int64, ns): sum of their durations
--   mean_ns (Float64, ns): mean duration
--   p50_ns (Float64, ns): median duration
--   p99_ns (Float64, ns): 99th percentile of the duration
--   longest_ns (Int64, ns): longest duration
--   share_of_kernel_time (Float64, none): part of the durations of all kernels, 0 to 1; NULL: these are 0
--   launch_shapes (Int64, count): different grids and blocks; NULL: the report shows none
-- Reads: gpu_trace
WITH shapes AS (
  SELECT
    name,
    grid_x,
    count(*) AS kernels,
    sum(duration_ns) AS total_ns,
    max(duration_ns) AS longest_ns,
    array_agg(duration_ns) AS durations_ns
  FROM gpu_trace
  WHERE kind = 'kernel'
  GROUP BY name, grid_x, grid_y, grid_z, block_x, block_y, block_z
),
grouped AS (
  SELECT
    name,
    CAST(sum(kernels) AS BIGINT) AS kernels,
    CAST(sum(total_ns) AS BIGINT) AS total_ns,
    max(longest_ns) AS longest_ns,
    array_sort(flatten(array_agg(durations_ns))) AS sorted_ns,
    NULLIF(count(grid_x), 0) AS launch_shapes
  FROM shapes
  GROUP BY name
),
ranked AS (
  -- The 0-based rank of a percentile among n values is (n - 1) * p: its whole part, and hundredths beyond.
  SELECT
    *,
    CAST(floor(50 * (kernels - 1) / 100.0) AS BIGINT) AS p50_rank,
    CAST((50 * (kernels - 1)) % 100 AS DOUBLE) / 100.0 AS p50_part,
    CAST(floor(99 * (kernels - 1) / 100.0) AS BIGINT) AS p99_rank,
    CAST((99 * (kernels - 1)) % 100 AS DOUBLE) / 100.0 AS p99_part
  FROM grouped
)
SELECT
  name,
  kernels,
  total_ns,
  CAST(total_ns AS DOUBLE) / CAST(kernels AS DOUBLE) AS mean_ns,
  CAST(sorted_ns[p50_rank + 1] AS DOUBLE)
    + CAST(coalesce(sorted_ns[p50_rank + 2], longest_ns) - sorted_ns[p50_rank + 1] AS DOUBLE) * p50_part AS p50_ns,
  CAST(sorted_ns[p99_rank + 1] AS DOUBLE)
    + CAST(coalesce(sorted_ns[p99_rank + 2], longest_ns) - sorted_ns[p99_rank + 1] AS DOUBLE) * p99_part AS p99_ns,
  longest_ns,
  CAST(total_ns AS DOUBLE) / NULLIF(CAST(sum(total_ns) OVER () AS DOUBLE), 0) AS share_of_kernel_time,
  launch_shapes
FROM ranked
ORDER BY total_ns DESC NULLS LAST, name
