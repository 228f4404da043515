-- gpu_attribution_gaps: GPU work that belongs to no label of the program.
-- Row: one name, kind and cause of such operations, of runs of which GPU operations, API calls and NVTX ranges were read.
-- Those with the cause outside add up to the outside work of gpu_attribution_totals.
-- Columns:
--   cause (Utf8, none): outside: the call began in no range with a label of the program; ambiguous: calls of several
--     threads have the correlation id; without_call: it names no call
--   kind (Utf8, none): kernel, memcpy, memset, graph or other
--   name (Utf8, none): the kernel's or the operation's name, as printed
--   operations (Int64, count): operations
--   total_ns (Int64, ns): sum of their durations
--   share_of_gpu_time (Float64, none): part of the durations of all operations of the run, 0 to 1
-- Reads: gpu_call_causes, gpu_sources, gpu_trace, run_numbers
WITH causes AS (
  -- Held for all calls at once: whole numbers alone.
  SELECT run_number, correlation_id, cause_number FROM gpu_call_causes
),
operations AS (
  SELECT r.run_number, o.run_id, o.correlation_id, o.kind, o.name, o.duration_ns
  FROM run_numbers AS r
  JOIN gpu_trace AS o ON r.run_id = o.run_id
),
named AS (
  SELECT
    o.run_id,
    CASE p.cause_number
      WHEN 1 THEN 'attributed'
      WHEN 2 THEN 'outside'
      WHEN 3 THEN 'ambiguous'
      ELSE 'without_call'
    END AS cause,
    o.kind,
    o.name,
    count(*) AS operations,
    CAST(sum(o.duration_ns) AS BIGINT) AS total_ns
  FROM causes AS p
  RIGHT JOIN operations AS o ON p.run_number = o.run_number AND p.correlation_id = o.correlation_id
  GROUP BY o.run_id, p.cause_number, o.kind, o.name
),
shared AS (
  SELECT
    *,
    CAST(sum(total_ns) OVER (PARTITION BY run_id) AS BIGINT) AS gpu_time_ns
  FROM named
)
SELECT
  n.cause,
  n.kind,
  n.name,
  n.operations,
  n.total_ns,
  CAST(n.total_ns AS DOUBLE) / NULLIF(CAST(n.gpu_time_ns AS DOUBLE), 0) AS share_of_gpu_time
FROM gpu_sources AS s
JOIN shared AS n ON s.run_id = n.run_id
WHERE s.is_joined AND n.cause <> 'attributed'
ORDER BY n.total_ns DESC NULLS LAST, n.operations DESC NULLS LAST, n.cause, n.kind, n.name, n.run_id
