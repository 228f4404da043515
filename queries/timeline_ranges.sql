-- timeline_ranges: Every NVTX range of Nsight Systems as a timeline draws it: by thread and depth, in order of time.
-- Row: one range of the report nvtx_pushpop_trace: host time, on Nsight's clock.
-- Columns:
--   process_id (Int64, id): process; NULL: not given
--   thread_id (Int64, id): thread; NULL: not given
--   level (Int64, count): depth in its stack of ranges, 0 the outermost; NULL: not given
--   start_ns (Int64, ns (nsight clock)): when the host entered the range
--   duration_ns (Int64, ns): how long it was in it
--   row (Int64, id): position in the report, from 0
--   label (Utf8, none): the label it stands for; NULL: the range has no name
-- Reads: nvtx_pushpop_trace
SELECT
  process_id,
  thread_id,
  level,
  start_ns,
  duration_ns,
  "row",
  label
FROM nvtx_pushpop_trace
ORDER BY process_id NULLS LAST, thread_id NULLS LAST, level NULLS LAST, start_ns, run_id, "row"
