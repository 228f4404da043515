-- gradients: Recorded gradients, by root and key.
-- Row: one gradient. The label is root/key.
-- Parameters:
--   label (Utf8): only the gradient of this root/key; NULL: all
--   label_prefix (Utf8): only gradients whose root/key begins so; NULL: all
-- Columns:
--   root (Utf8, none): collection of the parameter
--   key (Utf8, none): parameter
--   state (Utf8, none): present, zero, missing or non_finite
--   norm (Float64, tensor value): L2 norm; NULL when missing or non_finite
-- Reads: gradients
SELECT
  root,
  key,
  state,
  norm
FROM gradients
WHERE ($label IS NULL OR concat(root, '/', key) = $label)
  AND ($label_prefix IS NULL OR starts_with(concat(root, '/', key), $label_prefix))
ORDER BY root, key, run_id, seq
