-- gpu_phase_kernels: Which kernels each label of the program ran.
-- Row: one kernel name of one label. Operations are joined to labels as in gpu_phases, by correlation id alone; where that
-- calls a label projected_only, some of its operations may be missing here. A whole CUDA graph that is one row is none.
-- Parameters:
--   label (Utf8): only this label; NULL: all
--   label_prefix (Utf8): only labels that begin so; NULL: all
-- Columns:
--   label (Utf8, none): the label
--   name (Utf8, none): the kernel's name, as printed
--   kernels (Int64, count): executions
--   total_ns (Int64, ns): sum of their durations
--   longest_ns (Int64, ns): the longest of them
--   share (Float64, none): part of the durations of all kernels of the label, 0 to 1
-- Reads: label_operations
WITH named AS (
  SELECT
    run_id,
    label,
    name,
    count(*) AS kernels,
    CAST(sum(duration_ns) AS BIGINT) AS total_ns,
    max(duration_ns) AS longest_ns
  FROM label_operations
  WHERE kind = 'kernel'
    AND ($label IS NULL OR label = $label)
    AND ($label_prefix IS NULL OR starts_with(label, $label_prefix))
  GROUP BY run_id, label, name
)
SELECT
  label,
  name,
  kernels,
  total_ns,
  longest_ns,
  CAST(total_ns AS DOUBLE)
    / NULLIF(CAST(CAST(sum(total_ns) OVER (PARTITION BY run_id, label) AS BIGINT) AS DOUBLE), 0) AS share
FROM named
ORDER BY label, total_ns DESC NULLS LAST, name, run_id
