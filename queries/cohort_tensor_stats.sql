-- cohort_tensor_stats: What each label's tensor summaries come to in each of many runs.
-- Row: one label in one run. The summaries of a label within a run are averaged; those with any non-finite element have
-- no rms and no largest value, and are averaged by neither.
-- Columns:
--   label (Utf8, none): label
--   run_id (Utf8, id): the run
--   samples (Int64, count): summaries
--   rms (Float64, tensor value): mean of the root mean squares; NULL: none is known
--   abs_max (Float64, tensor value): mean of the largest absolute values; NULL: none is known
--   elements (Int64, count): elements of all
--   non_finite (Int64, count): NaN or infinite elements of all
-- Reads: tensor_stats
SELECT
  label,
  run_id,
  count(*) AS samples,
  avg(rms) AS rms,
  avg(abs_max) AS abs_max,
  CAST(sum(elements) AS BIGINT) AS elements,
  CAST(sum(non_finite) AS BIGINT) AS non_finite
FROM tensor_stats
GROUP BY run_id, label
ORDER BY label, run_id
