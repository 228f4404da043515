-- non_finite_events: Every recorded fact that is not finite: tensor summaries, scalars and gradients.
-- Row: one summary with at least one NaN or infinite element, or one gradient of state non_finite. The earliest seq of
-- a run is where such a value was first seen, which need not be where it arose.
-- Columns:
--   run_id (Utf8, id): the run
--   seq (Int64, id): place in the order of recording
--   kind (Utf8, none): tensor_stats or gradient
--   label (Utf8, none): label of the summary, or root/key of the gradient
--   span_id (Int64, id): span it was recorded in; NULL for a gradient, which is recorded in none
--   tensor_id (Utf8, id): tensor it describes, as in stat_tensors; NULL: not known
--   elements (Int64, count): elements; NULL for a gradient
--   nan (Int64, count): NaN elements; NULL: not told apart
--   pos_inf (Int64, count): +infinite elements; NULL: not told apart
--   neg_inf (Int64, count): -infinite elements; NULL: not told apart
--   non_finite (Int64, count): NaN and infinite elements; NULL for a gradient
-- Reads: gradients, stat_tensors
SELECT
  run_id,
  seq,
  'tensor_stats' AS kind,
  label,
  span_id,
  tensor_id,
  elements,
  nan,
  pos_inf,
  neg_inf,
  non_finite
FROM stat_tensors
WHERE non_finite > 0
UNION ALL
SELECT
  run_id,
  seq,
  'gradient' AS kind,
  concat(root, '/', key) AS label,
  CAST(NULL AS BIGINT) AS span_id,
  CAST(NULL AS VARCHAR) AS tensor_id,
  CAST(NULL AS BIGINT) AS elements,
  CAST(NULL AS BIGINT) AS nan,
  CAST(NULL AS BIGINT) AS pos_inf,
  CAST(NULL AS BIGINT) AS neg_inf,
  CAST(NULL AS BIGINT) AS non_finite
FROM gradients
WHERE state = 'non_finite'
