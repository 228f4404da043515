-- series_tensor_stats: Tensor summaries and scalars of many runs, label by label, by captured step.
-- Row: one summary; a label that a run records several times has as many rows, in order of recording. With any non-finite
--   element rms, abs_max and mean are NULL; the finite_ columns cover the rest.
-- Parameters:
--   label (Utf8): only summaries of this label; NULL: all
--   label_prefix (Utf8): only summaries whose label begins so; NULL: all
-- Columns:
--   label (Utf8, none): label
--   capture_step (Int64, count): update or invocation that was captured, from 1
--   run_id (Utf8, id): the run
--   shape (List<Int64>, count): shape; empty for a scalar
--   dtype (Utf8, none): element type
--   elements (Int64, count): elements
--   non_finite (Int64, count): NaN or infinite elements
--   nan (Int64, count): NaN elements; NULL: not told apart
--   pos_inf (Int64, count): +infinite elements; NULL: not told apart
--   neg_inf (Int64, count): -infinite elements; NULL: not told apart
--   rms (Float64, tensor value): root mean square
--   abs_max (Float64, tensor value): largest absolute value
--   mean (Float64, tensor value): mean; the value of a scalar
--   finite_rms (Float64, tensor value): root mean square of the finite elements
--   finite_abs_max (Float64, tensor value): largest absolute value of the finite elements
--   finite_mean (Float64, tensor value): mean of the finite elements
-- Reads: run, tensor_stats
SELECT
  tensor_stats.label,
  run.capture_step,
  run.run_id,
  tensor_stats.shape,
  tensor_stats.dtype,
  tensor_stats.elements,
  tensor_stats.non_finite,
  tensor_stats.nan,
  tensor_stats.pos_inf,
  tensor_stats.neg_inf,
  tensor_stats.rms,
  tensor_stats.abs_max,
  tensor_stats.mean,
  tensor_stats.finite_rms,
  tensor_stats.finite_abs_max,
  tensor_stats.finite_mean
FROM run
INNER JOIN tensor_stats ON tensor_stats.run_id = run.run_id
WHERE ($label IS NULL OR tensor_stats.label = $label)
  AND ($label_prefix IS NULL OR starts_with(tensor_stats.label, $label_prefix))
ORDER BY tensor_stats.label, run.capture_step, run.run_id, tensor_stats.seq
