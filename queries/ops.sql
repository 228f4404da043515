-- ops: Totals of the executed operations by name, shape, dtype and device, largest total host time first.
-- Row: one combination of name, output shape, dtype and device. Percentiles are exact, interpolated between ranks.
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
SELECT
  name,
  shape,
  dtype,
  device,
  count(*) AS calls,
  CAST(sum(duration_ns) AS BIGINT) AS total_ns,
  CAST(percentile_cont(0.5) WITHIN GROUP (ORDER BY duration_ns) AS DOUBLE) AS p50_ns,
  CAST(percentile_cont(0.99) WITHIN GROUP (ORDER BY duration_ns) AS DOUBLE) AS p99_ns,
  max(duration_ns) AS max_ns,
  CAST(sum(cpu_ns) AS BIGINT) AS cpu_ns,
  CAST(sum(output_dense_bytes) AS BIGINT) AS output_dense_bytes,
  CAST(sum(input_dense_bytes) AS BIGINT) AS input_dense_bytes
FROM ops
WHERE ($label IS NULL OR name = $label)
  AND ($label_prefix IS NULL OR starts_with(name, $label_prefix))
GROUP BY name, shape, dtype, device
ORDER BY total_ns DESC NULLS LAST, name, shape, dtype, device
