-- peak_storages: The storages that were live at the simultaneous peak of their run.
-- Row: one storage of storage_lifetimes, allocated at the peak or before and not ended then.
-- Columns:
--   run_id (Utf8, id): the run
--   device (Utf8, none): device
--   storage_id (Utf8, id): storage
--   alloc_seq (Int64, count): place of the allocation in the order of recording
--   tensor_id (Utf8, id): tensor it was allocated for
--   span_id (Int64, id): span it was allocated in
--   op_name (Utf8, none): operation it was allocated by; NULL: not given
--   bytes (Int64, bytes): size
--   shape (List<Int64>, count): shape of the tensor
--   dtype (Utf8, none): element type of the tensor
--   category (Utf8, none): parameter, activation, gradient, optimizer or other
--   start_ns (Int64, ns (session clock)): when it was allocated
--   end_seq (Int64, count): place of its end in the order of recording; NULL: never seen
--   end_ns (Int64, ns (session clock)): when it ended; NULL: never seen
--   ending (Utf8, none): freed, end_unobserved (inferred when its address was used again) or retained
--   peak_ns (Int64, ns (session clock)): the moment of the peak
--   peak_live_bytes (Int64, bytes): what was live then
-- Reads: peak_moment, storage_lifetimes
SELECT
  l.run_id,
  l.device,
  l.storage_id,
  l.alloc_seq,
  l.tensor_id,
  l.span_id,
  l.op_name,
  l.bytes,
  l.shape,
  l.dtype,
  l.category,
  l.start_ns,
  l.end_seq,
  l.end_ns,
  l.ending,
  p.timestamp_ns AS peak_ns,
  p.live_bytes AS peak_live_bytes
FROM peak_moment AS p
JOIN storage_lifetimes AS l ON p.run_id = l.run_id
WHERE (l.start_ns < p.timestamp_ns OR (l.start_ns = p.timestamp_ns AND l.alloc_seq <= p.seq))
  AND (l.end_ns IS NULL OR l.end_ns > p.timestamp_ns OR (l.end_ns = p.timestamp_ns AND l.end_seq > p.seq))
