-- gpu_reports: Which Nsight reports were supplied, and what became of them.
-- Row: one report that can be read, supplied or not; then each supplied file that is kept and not read. A report without
-- rows is not a missing one.
-- Columns:
--   report (Utf8, none): the report, as `nsys stats --report` takes it; NULL for a file that is kept and not read
--   table (Utf8, none): the table its rows are in
--   state (Utf8, none): available, unavailable (not supplied) or failed (supplied and not readable); retained: kept, not
--     read
--   file (Utf8, none): the file
--   rows (Int64, count): its rows; NULL where it is not available: unknown, not zero
--   time_step_ns (Int64, ns): what the last printed digit of its times stands for; 1: times are exact
--   reason (Utf8, none): why it is not available, or what a file that is not read looks like
--   notes (List<Utf8>, none): what is to be known of it: rounding, columns that are not read
-- Reads: nsight_reports
SELECT
  report,
  "table",
  state,
  file,
  rows,
  time_step_ns,
  reason,
  notes
FROM nsight_reports
ORDER BY
  run_id,
  CASE "table"
    WHEN 'gpu_trace' THEN 1
    WHEN 'gpu_kernels' THEN 2
    WHEN 'cuda_api' THEN 3
    WHEN 'gpu_mem_time' THEN 4
    WHEN 'nvtx_gpu_proj' THEN 5
    WHEN 'cuda_api_trace' THEN 6
    WHEN 'nvtx_pushpop_trace' THEN 7
    ELSE 8
  END,
  file,
  reason
