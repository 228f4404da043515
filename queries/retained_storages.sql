-- retained_storages: Storages still live when the recording ended, largest first.
-- Row: one storage without an end. Parameters and optimizer state are meant to stay; an activation is not.
-- Columns:
--   storage_id (Utf8, id): storage
--   device (Utf8, none): device
--   bytes (Int64, bytes): size
--   category (Utf8, none): parameter, activation, gradient, optimizer or other
--   dtype (Utf8, none): element type of the tensor it was allocated for
--   shape (List<Int64>, count): shape of that tensor
--   op_name (Utf8, none): operation it was allocated by; NULL: not given
--   allocation_span_id (Utf8, id): span it was allocated in
--   allocation_span_name (Utf8, none): label of that span; NULL where the span was not recorded
--   tensor_ids (List<Utf8>, id): tensors known to share it, each once, sorted
--   start_timestamp_ns (Int64, ns (session clock)): when it was allocated
--   end_timestamp_ns (Int64, ns (session clock)): when it ended; NULL: never seen
--   ending (Utf8, none): freed, end_unobserved (inferred when its address was used again) or retained
--   live_ns (Int64, ns): from allocation to end; NULL: never seen to end
-- Reads: spans, storages
SELECT
  l.storage_id,
  l.device,
  l.bytes,
  l.category,
  l.dtype,
  l.shape,
  l.op_name,
  concat('s', l.span_id) AS allocation_span_id,
  s.name AS allocation_span_name,
  l.tensor_ids,
  l.start_ns AS start_timestamp_ns,
  l.end_ns AS end_timestamp_ns,
  l.ending,
  l.end_ns - l.start_ns AS live_ns
-- The spans first: the engine holds the left side of a join and streams the right.
FROM spans AS s
RIGHT JOIN storages AS l ON s.run_id = l.run_id AND s.span_id = l.span_id
WHERE l.ending = 'retained'
ORDER BY l.bytes DESC NULLS LAST, l.start_ns, l.run_id, l.alloc_seq
