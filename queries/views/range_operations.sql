-- range_operations: GPU operations, each in every NVTX range that encloses the call which caused it.
-- Row: one operation and one range. The range is on the thread of the call, and the call began in it: at its start or
-- later, and before its end. The operation is the call's by correlation id; when it ran plays no part. Operations of
-- ambiguous ids are in no range.
-- Columns:
--   run_id (Utf8, id): the run
--   range_number (Int64, id): the range, in nvtx_ranges
--   label (Utf8, none): its label
--   operation_row (Int64, id): row of the operation in gpu_trace
--   correlation_id (Int64, id): the call
--   start_ns (Int64, ns (nsight clock)): when the operation began on the device
--   end_ns (Int64, ns (nsight clock)): when it ended
--   kind (Utf8, none): kernel, memcpy, memset, graph or other
--   direction (Utf8, none): which way a copy went
--   name (Utf8, none): kernel or operation
--   device (Utf8, none): the GPU
--   bytes (Int64, bytes): bytes moved or set, as rounded as the report prints them
-- Reads: gpu_call_places, gpu_trace, nvtx_ranges, range_covers, run_numbers
WITH placed AS (
  SELECT run_number, correlation_id, anchor_number, start_ns FROM gpu_call_places WHERE anchor_number IS NOT NULL
)
SELECT
  o.run_id,
  r.range_number,
  r.label,
  o.row AS operation_row,
  o.correlation_id,
  o.start_ns,
  o.start_ns + o.duration_ns AS end_ns,
  o.kind,
  o.direction,
  o.name,
  o.device,
  o.bytes
FROM nvtx_ranges AS r
JOIN range_covers AS c ON r.range_number = c.range_number
JOIN placed AS p ON c.anchor_number = p.anchor_number
JOIN run_numbers AS n ON p.run_number = n.run_number
JOIN gpu_trace AS o ON n.run_id = o.run_id AND p.correlation_id = o.correlation_id
WHERE p.start_ns < c.end_ns
