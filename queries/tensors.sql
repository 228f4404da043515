-- tensors: Recorded tensor metadata, in order of recording.
-- Row: one record of one tensor; a tensor recorded twice has two rows. Footprints are not allocations.
-- Parameters:
--   label (Utf8): only tensors of this label; NULL: all
--   label_prefix (Utf8): only tensors whose label begins so; NULL: all
-- Columns:
--   tensor_id (Utf8, id): tensor
--   label (Utf8, none): label; NULL: none
--   span_id (Utf8, id): span it was recorded in
--   shape (List<Int64>, count): shape
--   dtype (Utf8, none): element type
--   device (Utf8, none): device
--   requires_grad (Boolean, none): tracked for gradients
--   dense_bytes (Int64, bytes): elements x element size; NULL: not given
--   category (Utf8, none): parameter, activation, gradient, optimizer or other
--   storage_id (Utf8, id): storage; NULL: not given
-- Reads: tensors
SELECT
  tensor_id,
  label,
  concat('s', span_id) AS span_id,
  shape,
  dtype,
  device,
  requires_grad,
  dense_bytes,
  category,
  storage_id
FROM tensors
WHERE ($label IS NULL OR label = $label)
  AND ($label_prefix IS NULL OR starts_with(label, $label_prefix))
ORDER BY run_id, seq
