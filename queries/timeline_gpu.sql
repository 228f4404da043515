-- timeline_gpu: Every GPU operation of Nsight Systems as a timeline draws it: by GPU, context and stream, then time.
-- Row: one operation of the report cuda_gpu_trace. Its clock is Nsight's, which no other time of a trace is on.
-- Columns:
--   device (Utf8, none): GPU; NULL: the report names none
--   context_id (Int64, id): CUDA context; NULL: not given
--   stream_id (Int64, id): CUDA stream; NULL: not given
--   start_ns (Int64, ns (nsight clock)): when it began on the device
--   duration_ns (Int64, ns): how long it ran
--   row (Int64, id): position in the report, from 0
--   kind (Utf8, none): kernel, memcpy, memset, graph or other
--   direction (Utf8, none): of a copy; NULL for what is none
--   name (Utf8, none): the kernel's or the operation's name, as printed
--   bytes (Int64, bytes): bytes moved or set, as printed; NULL: none
--   correlation_id (Int64, id): API call that caused it; NULL: not given
-- Reads: gpu_trace
SELECT
  device,
  context_id,
  stream_id,
  start_ns,
  duration_ns,
  "row",
  kind,
  direction,
  name,
  bytes,
  correlation_id
FROM gpu_trace
ORDER BY device NULLS LAST, context_id NULLS LAST, stream_id NULLS LAST, start_ns, run_id, "row"
