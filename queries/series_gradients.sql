-- series_gradients: Gradients of many runs, parameter by parameter, by captured step.
-- Row: one gradient; a parameter that a run records several times has as many rows, in order of recording. The label is
--   root/key.
-- Parameters:
--   label (Utf8): only gradients of this root/key; NULL: all
--   label_prefix (Utf8): only gradients whose root/key begins so; NULL: all
-- Columns:
--   root (Utf8, none): collection of the parameter
--   key (Utf8, none): parameter
--   capture_step (Int64, count): update or invocation that was captured, from 1
--   run_id (Utf8, id): the run
--   state (Utf8, none): present, zero, missing or non_finite
--   norm (Float64, tensor value): L2 norm; NULL when missing or non_finite
-- Reads: gradients, run
SELECT
  gradients.root,
  gradients.key,
  run.capture_step,
  run.run_id,
  gradients.state,
  gradients.norm
FROM run
INNER JOIN gradients ON gradients.run_id = run.run_id
WHERE ($label IS NULL OR concat(gradients.root, '/', gradients.key) = $label)
  AND ($label_prefix IS NULL OR starts_with(concat(gradients.root, '/', gradients.key), $label_prefix))
ORDER BY gradients.root, gradients.key, run.capture_step, run.run_id, gradients.seq
