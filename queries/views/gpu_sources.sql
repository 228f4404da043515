-- gpu_sources: What of each run's GPU is known: which Nsight reports were read.
-- Row: one run with which any were supplied. A report that was read and has no rows was read.
-- Columns:
--   run_id (Utf8, id): the run
--   has_timeline (Boolean, none): cuda_gpu_trace was read
--   has_calls (Boolean, none): cuda_api_trace was read
--   has_projection (Boolean, none): nvtx_gpu_proj_trace was read
--   has_ranges (Boolean, none): that or nvtx_pushpop_trace was read
--   is_joined (Boolean, none): operations, calls and ranges were read, so that they are joined by correlation id
-- Reads: nsight_reports
SELECT
  run_id,
  has_timeline,
  has_calls,
  has_projection,
  has_projection OR has_push_pop AS has_ranges,
  has_timeline AND has_calls AND (has_projection OR has_push_pop) AS is_joined
FROM (
  SELECT
    run_id,
    bool_or(coalesce("table" = 'gpu_trace' AND state = 'available', FALSE)) AS has_timeline,
    bool_or(coalesce("table" = 'cuda_api_trace' AND state = 'available', FALSE)) AS has_calls,
    bool_or(coalesce("table" = 'nvtx_gpu_proj' AND state = 'available', FALSE)) AS has_projection,
    bool_or(coalesce("table" = 'nvtx_pushpop_trace' AND state = 'available', FALSE)) AS has_push_pop
  FROM nsight_reports
  GROUP BY run_id
) AS r
