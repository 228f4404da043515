-- activations_by_device_busy: The operations that made an activation, longest busy time of a device clock first.
-- Row: one operation of activation_ops and one device clock, where the operation has a span of its own with device
-- intervals (op_device_times); other operations have no device time and are left out. Clocks are never added.
-- Parameters:
--   label (Utf8): only operations of this name; NULL: all
--   label_prefix (Utf8): only operations whose name begins so; NULL: all
-- Columns:
--   id (Utf8, id): the operation
--   span_id (Utf8, id): the span it ran in
--   op_index (Int64, id): its position within the span
--   name (Utf8, none): operation
--   output_tensor_id (Utf8, id): its output
--   shape (List<Int64>, count): shape of the output
--   dtype (Utf8, none): element type of the output
--   device (Utf8, none): device of the output
--   clock_device (Utf8, none): device of the intervals
--   clock_id (Utf8, id): clock of the intervals
--   device_busy_ns (Int64, ns): union of the intervals on that clock
--   interval_count (Int64, count): intervals
--   streams (List<Utf8>, id): streams they ran on, sorted
--   backends (List<Utf8>, none): what measured them, sorted
--   start_ns (Int64, ns (session clock)): when it started
--   observed_host_duration_ns (Int64, ns): host time: launch time for an asynchronous device
--   dense_output_bytes (Int64, bytes): footprint of the output, no allocation; NULL: not given
--   classification_sources (List<Utf8>, none): tensor_output, logical_storage or both
--   logical_storage_count (Int64, count): storages it owns; NULL, here and below: none is recorded
--   logical_allocated_bytes (Int64, bytes): their sizes together
--   logical_storage_live_duration_ns (Int64, ns): sum of their lifetimes, each clipped to the measured region
--   logical_byte_nanoseconds (Decimal128(38, 0), byte ns): sum of size times clipped lifetime, exact
--   logical_retained_bytes_at_measured_end (Int64, bytes): sizes of those still live at the region's end
-- Reads: activation_ops, op_device_times
SELECT
  concat('s', a.span_id, '/op/', a.op_index) AS id,
  concat('s', a.span_id) AS span_id,
  a.op_index,
  a.name,
  a.output_tensor_id,
  a.shape,
  a.dtype,
  a.device,
  d.device AS clock_device,
  d.clock_id,
  d.busy_ns AS device_busy_ns,
  d.interval_count,
  d.streams,
  d.backends,
  a.start_ns,
  a.observed_host_duration_ns,
  a.dense_output_bytes,
  a.classification_sources,
  a.logical_storage_count,
  a.logical_allocated_bytes,
  a.logical_storage_live_duration_ns,
  a.logical_byte_nanoseconds,
  a.logical_retained_bytes_at_measured_end
FROM op_device_times AS d
JOIN activation_ops AS a ON d.run_id = a.run_id AND d.span_id = a.span_id
WHERE ($label IS NULL OR a.name = $label)
  AND ($label_prefix IS NULL OR starts_with(a.name, $label_prefix))
ORDER BY d.busy_ns DESC NULLS LAST, a.start_ns, a.run_id, a.seq, d.device, d.clock_id
