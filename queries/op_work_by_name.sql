-- op_work_by_name: The work of the executed operations by name and device, most FLOP first.
-- Row: one operation name on one device. How the FLOP are counted says view op_work. A rate is given only where host
-- time holds the work: on cpu, or in a run synchronized at every span; elsewhere host time is launch time.
-- Parameters:
--   label (Utf8): only operations of this name; NULL: all
--   label_prefix (Utf8): only operations whose name begins so; NULL: all
-- Columns:
--   name (Utf8, none): operation
--   device (Utf8, none): device
--   rule (Utf8, none): the rule for its name; NULL: there is none
--   calls (Int64, count): executions
--   counted_calls (Int64, count): of these, those whose FLOP are counted
--   flops (Int64, FLOP): their FLOP; NULL: none is counted, or they are more than Int64 holds
--   bytes_moved (Int64, bytes): dense footprints of inputs and outputs, of the calls where both are given
--   total_ns (Int64, ns): sum of host time
--   counted_ns (Int64, ns): of that, the time of the counted calls; NULL: none
--   flops_per_second (Float64, FLOP/s): FLOP of the counted calls whose host time holds the work, by that time
--   intensity (Float64, FLOP/byte): FLOP by bytes moved, of the calls where both are known
-- Reads: op_work
WITH grouped AS (
  SELECT
    name,
    device,
    min(rule) AS rule,
    count(*) AS calls,
    count(flops) AS counted_calls,
    sum(CAST(flops AS DECIMAL(38, 0))) AS flops,
    CAST(sum(bytes_moved) AS BIGINT) AS bytes_moved,
    CAST(sum(duration_ns) AS BIGINT) AS total_ns,
    CAST(sum(CASE WHEN flops IS NOT NULL THEN duration_ns END) AS BIGINT) AS counted_ns,
    sum(CASE WHEN holds_work THEN CAST(flops AS DECIMAL(38, 0)) END) AS held_flops,
    sum(CASE WHEN holds_work AND flops IS NOT NULL THEN duration_ns END) AS held_ns,
    sum(CASE WHEN bytes_moved IS NOT NULL THEN CAST(flops AS DECIMAL(38, 0)) END) AS dense_flops,
    sum(CASE WHEN flops IS NOT NULL THEN bytes_moved END) AS dense_bytes
  FROM op_work
  WHERE ($label IS NULL OR name = $label)
    AND ($label_prefix IS NULL OR starts_with(name, $label_prefix))
  GROUP BY name, device
)
SELECT
  name,
  device,
  rule,
  calls,
  counted_calls,
  CASE WHEN flops <= 9223372036854775807 THEN CAST(flops AS BIGINT) END AS flops,
  bytes_moved,
  total_ns,
  counted_ns,
  CAST(held_flops AS DOUBLE) * 1e9 / NULLIF(CAST(held_ns AS DOUBLE), 0) AS flops_per_second,
  CAST(dense_flops AS DOUBLE) / NULLIF(CAST(dense_bytes AS DOUBLE), 0) AS intensity
FROM grouped
ORDER BY flops DESC NULLS LAST, total_ns DESC NULLS LAST, name, device
