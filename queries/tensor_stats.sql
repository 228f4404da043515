-- tensor_stats: Recorded tensor summaries and scalars, in order of recording.
-- Row: one summary. With any non-finite element rms, abs_max and mean are NULL; the finite_ columns cover the rest.
-- Parameters:
--   label (Utf8): only summaries of this label; NULL: all
--   label_prefix (Utf8): only summaries whose label begins so; NULL: all
-- Columns:
--   label (Utf8, none): label
--   span_id (Utf8, id): span it was recorded in
--   shape (List<Int64>, count): shape; empty for a scalar
--   dtype (Utf8, none): element type
--   elements (Int64, count): elements
--   non_finite (Int64, count): NaN or infinite elements
--   nan (Int64, count): NaN elements; NULL: not told apart
--   pos_inf (Int64, count): +infinite elements; NULL: not told apart
--   neg_inf (Int64, count): -infinite elements; NULL: not told apart
--   rms (Float64, tensor value): root mean square
--   abs_max (Float64, tensor value): largest absolute value
--   mean (Float64, tensor value): mean
--   finite_rms (Float64, tensor value): root mean square of the finite elements
--   finite_abs_max (Float64, tensor value): largest absolute value of the finite elements
--   finite_mean (Float64, tensor value): mean of the finite elements
-- Reads: tensor_stats
SELECT
  label,
  concat('s', span_id) AS span_id,
  shape,
  dtype,
  elements,
  non_finite,
  nan,
  pos_inf,
  neg_inf,
  rms,
  abs_max,
  mean,
  finite_rms,
  finite_abs_max,
  finite_mean
FROM tensor_stats
WHERE ($label IS NULL OR label = $label)
  AND ($label_prefix IS NULL OR starts_with(label, $label_prefix))
ORDER BY run_id, seq
