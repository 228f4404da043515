-- gpu_call_places: API calls that caused GPU work, each with the NVTX range that its thread began last.
-- Row: one row of gpu_calls. The call is in those ranges of its anchor's range_covers that close after it began, and in
-- no other: the order of things on its own thread says so, never GPU time.
-- Columns:
--   run_id (Utf8, id): the run
--   run_number (Int64, id): the run as a number, as in gpu_calls
--   correlation_id (Int64, id): names its operations
--   anchor_number (Int64, id): range_number of the range that its thread began last; NULL: its thread had begun none, or
--     nobody knows its thread
--   start_ns (Int64, ns (nsight clock)): when the host entered the call
--   duration_ns (Int64, ns): how long it was in it
--   ambiguous (Boolean, none): as in gpu_calls
--   operations (Int64, count): GPU operations that it caused
--   kernels (Int64, count): those that are kernels
--   graphs (Int64, count): those that are a whole CUDA graph as one row
--   gpu_time_ns (Int64, ns): sum of the durations of all
--   first_operation_row (Int64, id): the first of them in gpu_trace
-- Reads: gpu_calls, nvtx_ranges
WITH events AS (
  SELECT
    run_number,
    process_id,
    thread_id,
    range_number,
    CAST(NULL AS VARCHAR) AS run_id,
    CAST(NULL AS BIGINT) AS correlation_id,
    start_ns,
    CAST(NULL AS BIGINT) AS duration_ns,
    CAST(NULL AS BOOLEAN) AS ambiguous,
    CAST(NULL AS BIGINT) AS operations,
    CAST(NULL AS BIGINT) AS kernels,
    CAST(NULL AS BIGINT) AS graphs,
    CAST(NULL AS BIGINT) AS gpu_time_ns,
    CAST(NULL AS BIGINT) AS first_operation_row
  FROM nvtx_ranges
  WHERE process_id IS NOT NULL AND thread_id IS NOT NULL AND start_ns IS NOT NULL
  UNION ALL
  SELECT
    run_number,
    process_id,
    thread_id,
    CAST(NULL AS BIGINT) AS range_number,
    run_id,
    correlation_id,
    start_ns,
    duration_ns,
    ambiguous,
    operations,
    kernels,
    graphs,
    gpu_time_ns,
    first_operation_row
  FROM gpu_calls
),
swept AS (
  SELECT
    *,
    -- Numbers of a thread's ranges ascend as they begin; a range that begins with the call holds it.
    max(range_number) OVER (
      PARTITION BY run_number, process_id, thread_id ORDER BY start_ns, range_number NULLS LAST
      ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
    ) AS anchor_number
  FROM events
)
SELECT
  run_id,
  run_number,
  correlation_id,
  anchor_number,
  start_ns,
  duration_ns,
  ambiguous,
  operations,
  kernels,
  graphs,
  gpu_time_ns,
  first_operation_row
FROM swept
WHERE correlation_id IS NOT NULL
