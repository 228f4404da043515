-- gpu_calls: One call of the CUDA API that caused GPU work.
-- Row: one correlation id that names at least one operation of gpu_trace and at least one call of cuda_api_trace. Ids are
-- unique within a process and gpu_trace names none: of an id that calls of several threads or processes have, nobody can
-- tell which caused the work. It is ambiguous, and has neither thread nor time. Several calls of one thread with one id
-- (a call of the driver inside one of the runtime) are taken for one, from the first's start to the last's end.
-- Columns:
--   run_id (Utf8, id): the run
--   run_number (Int64, id): the run as a number; it depends on the other runs
--   process_id (Int64, id): process
--   thread_id (Int64, id): thread
--   start_ns (Int64, ns (nsight clock)): when the host entered the call
--   duration_ns (Int64, ns): how long it was in it
--   correlation_id (Int64, id): names the GPU operations that it caused
--   function (Utf8, none): the function; of several, the first in alphabetical order
--   ambiguous (Boolean, none): whether several threads or processes have calls with this id
--   operations (Int64, count): GPU operations that it caused
--   kernels (Int64, count): those that are kernels
--   graphs (Int64, count): those that are a whole CUDA graph as one row
--   gpu_time_ns (Int64, ns): sum of the durations of all
--   first_operation_row (Int64, id): the first of them in gpu_trace
-- Reads: cuda_api_trace, gpu_trace, run_numbers
WITH used AS (
  SELECT
    r.run_number,
    o.correlation_id,
    1 AS operations,
    CASE WHEN o.kind = 'kernel' THEN 1 ELSE 0 END AS kernels,
    CASE WHEN o.kind = 'graph' THEN 1 ELSE 0 END AS graphs,
    o.duration_ns AS gpu_time_ns,
    o.row AS operation_row,
    CAST(NULL AS BIGINT) AS process_id,
    CAST(NULL AS BIGINT) AS thread_id,
    CAST(NULL AS BIGINT) AS start_ns,
    CAST(NULL AS BIGINT) AS end_ns,
    CAST(NULL AS VARCHAR) AS function
  FROM run_numbers AS r
  JOIN gpu_trace AS o ON r.run_id = o.run_id
  WHERE o.correlation_id IS NOT NULL
  UNION ALL
  SELECT
    r.run_number,
    c.correlation_id,
    0 AS operations,
    0 AS kernels,
    0 AS graphs,
    0 AS gpu_time_ns,
    CAST(NULL AS BIGINT) AS operation_row,
    -- Unknown is a thread of its own.
    coalesce(c.process_id, -1) AS process_id,
    coalesce(c.thread_id, -1) AS thread_id,
    c.start_ns,
    c.start_ns + c.duration_ns AS end_ns,
    c.name AS function
  FROM run_numbers AS r
  JOIN cuda_api_trace AS c ON r.run_id = c.run_id
  WHERE c.correlation_id IS NOT NULL
),
named AS (
  SELECT
    run_number,
    correlation_id,
    min(process_id) AS process_id,
    min(thread_id) AS thread_id,
    min(process_id) <> max(process_id) OR min(thread_id) <> max(thread_id) AS ambiguous,
    min(start_ns) AS start_ns,
    max(end_ns) AS end_ns,
    min(function) AS function,
    CAST(sum(operations) AS BIGINT) AS operations,
    CAST(sum(kernels) AS BIGINT) AS kernels,
    CAST(sum(graphs) AS BIGINT) AS graphs,
    CAST(sum(gpu_time_ns) AS BIGINT) AS gpu_time_ns,
    min(operation_row) AS first_operation_row
  FROM used
  GROUP BY run_number, correlation_id
)
SELECT
  r.run_id,
  n.run_number,
  CASE WHEN NOT n.ambiguous THEN NULLIF(n.process_id, -1) END AS process_id,
  CASE WHEN NOT n.ambiguous THEN NULLIF(n.thread_id, -1) END AS thread_id,
  CASE WHEN NOT n.ambiguous THEN n.start_ns END AS start_ns,
  CASE WHEN NOT n.ambiguous THEN n.end_ns - n.start_ns END AS duration_ns,
  n.correlation_id,
  CASE WHEN NOT n.ambiguous THEN n.function END AS function,
  n.ambiguous,
  n.operations,
  n.kernels,
  n.graphs,
  n.gpu_time_ns,
  n.first_operation_row
FROM run_numbers AS r
JOIN named AS n ON r.run_number = n.run_number
WHERE n.operations > 0 AND n.ambiguous IS NOT NULL
