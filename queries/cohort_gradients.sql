-- cohort_gradients: Norm and state of each gradient in each of many runs.
-- Row: one root and key in one run; a gradient that a run recorded several times is averaged.
-- Columns:
--   root (Utf8, none): collection of the parameter
--   key (Utf8, none): parameter
--   run_id (Utf8, id): the run
--   records (Int64, count): how often it was recorded
--   norm (Float64, tensor value): mean of the L2 norms that are known; NULL: none is
--   non_finite (Int64, count): records whose state is non_finite
--   missing (Int64, count): records whose state is missing
-- Reads: gradients
SELECT
  root,
  key,
  run_id,
  count(*) AS records,
  avg(norm) AS norm,
  count(CASE WHEN state = 'non_finite' THEN 1 END) AS non_finite,
  count(CASE WHEN state = 'missing' THEN 1 END) AS missing
FROM gradients
GROUP BY run_id, root, key
ORDER BY root, key, run_id
