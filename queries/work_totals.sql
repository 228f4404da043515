-- work_totals: The FLOP, bytes and rates of all operations of a run.
-- Row: one run, one without operations too. How the FLOP are counted says view op_work. A rate is given only where host
-- time holds the work: on cpu, or in a run synchronized at every span; elsewhere host time is launch time.
-- Columns:
--   run_id (Utf8, id): the run
--   calls (Int64, count): operations
--   counted_calls (Int64, count): of these, those whose FLOP are counted
--   flops (Int64, FLOP): their FLOP; NULL: none is counted, or they are more than Int64 holds
--   bytes_moved (Int64, bytes): dense footprints of inputs and outputs, of the operations where both are given
--   total_ns (Int64, ns): sum of host time; operations of several threads overlap. NULL: no operation
--   counted_ns (Int64, ns): of that, the time of the counted operations; NULL: none
--   counted_share (Float64, none): counted_ns as part of total_ns, 0 to 1; NULL when that is 0
--   flops_per_second (Float64, FLOP/s): FLOP of the counted operations whose host time holds the work, by that time
--   intensity (Float64, FLOP/byte): FLOP by bytes moved, of the operations where both are known
-- Reads: op_work, run
WITH grouped AS (
  SELECT
    run_id,
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
  GROUP BY run_id
)
SELECT
  r.run_id,
  coalesce(g.calls, 0) AS calls,
  coalesce(g.counted_calls, 0) AS counted_calls,
  CASE WHEN g.flops <= 9223372036854775807 THEN CAST(g.flops AS BIGINT) END AS flops,
  g.bytes_moved,
  g.total_ns,
  g.counted_ns,
  CAST(coalesce(g.counted_ns, 0) AS DOUBLE) / NULLIF(CAST(g.total_ns AS DOUBLE), 0) AS counted_share,
  CAST(g.held_flops AS DOUBLE) * 1e9 / NULLIF(CAST(g.held_ns AS DOUBLE), 0) AS flops_per_second,
  CAST(g.dense_flops AS DOUBLE) / NULLIF(CAST(g.dense_bytes AS DOUBLE), 0) AS intensity
FROM run AS r
LEFT JOIN grouped AS g ON r.run_id = g.run_id
ORDER BY r.run_id
