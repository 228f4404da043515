-- gpu_attribution_totals: How much GPU work was launched under a label of the program.
-- Row: one run of which GPU operations, API calls and NVTX ranges were read; none where they were not. Each operation is
-- attributed, outside, ambiguous or without call, by correlation id alone.
-- Columns:
--   operations (Int64, count): GPU operations
--   gpu_time_ns (Int64, ns): sum of their durations
--   attributed_operations (Int64, count): whose call began in a range with a label of the program
--   attributed_ns (Int64, ns): sum of their durations
--   outside_operations (Int64, count): whose call began in no such range
--   outside_ns (Int64, ns): sum of their durations
--   outside_share (Float64, none): outside_ns of gpu_time_ns, 0 to 1; NULL: there is no GPU time
--   ambiguous_operations (Int64, count): whose correlation id calls of several threads have: nobody can tell which
--   ambiguous_ns (Int64, ns): sum of their durations
--   without_call_operations (Int64, count): whose correlation id names no call
--   without_call_ns (Int64, ns): sum of their durations
-- Reads: gpu_call_causes, gpu_sources, gpu_trace
WITH calls AS (
  SELECT
    run_id,
    CAST(sum(operations) AS BIGINT) AS operations,
    CAST(sum(gpu_time_ns) AS BIGINT) AS gpu_time_ns,
    CAST(sum(CASE WHEN cause_number = 3 THEN operations ELSE 0 END) AS BIGINT) AS ambiguous_operations,
    CAST(sum(CASE WHEN cause_number = 3 THEN gpu_time_ns ELSE 0 END) AS BIGINT) AS ambiguous_ns,
    CAST(sum(CASE WHEN cause_number = 1 THEN operations ELSE 0 END) AS BIGINT) AS attributed_operations,
    CAST(sum(CASE WHEN cause_number = 1 THEN gpu_time_ns ELSE 0 END) AS BIGINT) AS attributed_ns
  FROM gpu_call_causes
  GROUP BY run_id
),
traced AS (
  SELECT run_id, count(*) AS operations, CAST(sum(duration_ns) AS BIGINT) AS gpu_time_ns
  FROM gpu_trace
  GROUP BY run_id
),
counted AS (
  SELECT
    s.run_id,
    coalesce(t.operations, 0) AS operations,
    coalesce(t.gpu_time_ns, 0) AS gpu_time_ns,
    coalesce(c.operations, 0) AS called_operations,
    coalesce(c.gpu_time_ns, 0) AS called_ns,
    coalesce(c.ambiguous_operations, 0) AS ambiguous_operations,
    coalesce(c.ambiguous_ns, 0) AS ambiguous_ns,
    coalesce(c.attributed_operations, 0) AS attributed_operations,
    coalesce(c.attributed_ns, 0) AS attributed_ns
  FROM gpu_sources AS s
  LEFT JOIN traced AS t ON s.run_id = t.run_id
  LEFT JOIN calls AS c ON s.run_id = c.run_id
  WHERE s.is_joined
)
SELECT
  operations,
  gpu_time_ns,
  attributed_operations,
  attributed_ns,
  called_operations - ambiguous_operations - attributed_operations AS outside_operations,
  called_ns - ambiguous_ns - attributed_ns AS outside_ns,
  CAST(called_ns - ambiguous_ns - attributed_ns AS DOUBLE) / NULLIF(CAST(gpu_time_ns AS DOUBLE), 0) AS outside_share,
  ambiguous_operations,
  ambiguous_ns,
  operations - called_operations AS without_call_operations,
  gpu_time_ns - called_ns AS without_call_ns
FROM counted
ORDER BY run_id
