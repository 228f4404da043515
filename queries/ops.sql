-- ops: Totals of the executed operations by name, shape, dtype and device, largest total host time first.
-- Row: one combination of name, output shape, dtype and device. Percentiles are exact: the duration
-- at the rank, or between two ranks their linear interpolation.
-- Times are host times as the program measured them: launch time for an asynchronous device.
-- Parameters:
--   label (Utf8): only operations of this name; NULL: all
--   label_prefix (Utf8): only operations whose name begins so; NULL: all
-- Columns:
--   name (Utf8, none): operation
--   shape (List<Int64>, count): output shape
--   dtype (Utf8, none): output element type
--   device (Utf8, none): device
--   calls (Int64, count): executions
--   total_ns (Int64, ns): sum of host time
--   p50_ns (Float64, ns): median host time
--   p99_ns (Float64, ns): 99th percentile of host time
--   max_ns (Int64, ns): longest host time
--   cpu_ns (Int64, ns): sum of thread CPU time where measured; NULL where never
--   output_dense_bytes (Int64, bytes): sum of the outputs' footprints; NULL where never given
--   input_dense_bytes (Int64, bytes): sum of the inputs' footprints
-- Reads: ops
WITH grouped AS (
  SELECT
    name,
    shape,
    dtype,
    device,
    count(*) AS calls,
    CAST(sum(duration_ns) AS BIGINT) AS total_ns,
    array_sort(array_agg(duration_ns)) AS sorted_ns,
    max(duration_ns) AS max_ns,
    CAST(sum(cpu_ns) AS BIGINT) AS cpu_ns,
    CAST(sum(output_dense_bytes) AS BIGINT) AS output_dense_bytes,
    CAST(sum(input_dense_bytes) AS BIGINT) AS input_dense_bytes
  FROM ops
  WHERE ($label IS NULL OR name = $label)
    AND ($label_prefix IS NULL OR starts_with(name, $label_prefix))
  GROUP BY name, shape, dtype, device
),
ranked AS (
  -- The 0-based rank of a percentile among n values is (n - 1) * p: its whole part, and hundredths beyond.
  SELECT
    *,
    CAST(floor(50 * (calls - 1) / 100.0) AS BIGINT) AS p50_rank,
    CAST((50 * (calls - 1)) % 100 AS DOUBLE) / 100.0 AS p50_part,
    CAST(floor(99 * (calls - 1) / 100.0) AS BIGINT) AS p99_rank,
    CAST((99 * (calls - 1)) % 100 AS DOUBLE) / 100.0 AS p99_part
  FROM grouped
)
SELECT
  name,
  shape,
  dtype,
  device,
  calls,
  total_ns,
  CAST(sorted_ns[p50_rank + 1] AS DOUBLE)
    + CAST(coalesce(sorted_ns[p50_rank + 2], max_ns) - sorted_ns[p50_rank + 1] AS DOUBLE) * p50_part AS p50_ns,
  CAST(sorted_ns[p99_rank + 1] AS DOUBLE)
    + CAST(coalesce(sorted_ns[p99_rank + 2], max_ns) - sorted_ns[p99_rank + 1] AS DOUBLE) * p99_part AS p99_ns,
  max_ns,
  cpu_ns,
  output_dense_bytes,
  input_dense_bytes
FROM ranked
ORDER BY total_ns DESC NULLS LAST, name, shape, dtype, device
