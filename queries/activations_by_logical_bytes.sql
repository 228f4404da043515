-- activations_by_logical_bytes: The operations that made an activation, most bytes of owned storages first.
-- Row: one operation of activation_ops; one that owns no recorded storage is left out.
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
--   start_ns (Int64, ns (session clock)): when it started
--   observed_host_duration_ns (Int64, ns): host time: launch time for an asynchronous device
--   dense_output_bytes (Int64, bytes): footprint of the output, no allocation; NULL: not given
--   classification_sources (List<Utf8>, none): tensor_output, logical_storage or both
--   logical_storage_count (Int64, count): storages it owns; NULL, here and below: none is recorded
--   logical_allocated_bytes (Int64, bytes): their sizes together
--   logical_storage_live_duration_ns (Int64, ns): sum of their lifetimes, each clipped to the measured region
--   logical_byte_nanoseconds (Decimal128(38, 0), byte ns): sum of size times clipped lifetime, exact
--   logical_retained_bytes_at_measured_end (Int64, bytes): sizes of those still live at the region's end
-- Reads: activation_ops
SELECT
  concat('s', span_id, '/op/', op_index) AS id,
  concat('s', span_id) AS span_id,
  op_index,
  name,
  output_tensor_id,
  shape,
  dtype,
  device,
  start_ns,
  observed_host_duration_ns,
  dense_output_bytes,
  classification_sources,
  logical_storage_count,
  logical_allocated_bytes,
  logical_storage_live_duration_ns,
  logical_byte_nanoseconds,
  logical_retained_bytes_at_measured_end
FROM activation_ops
WHERE logical_allocated_bytes IS NOT NULL
  AND ($label IS NULL OR name = $label)
  AND ($label_prefix IS NULL OR starts_with(name, $label_prefix))
ORDER BY logical_allocated_bytes DESC NULLS LAST, start_ns, run_id, seq
