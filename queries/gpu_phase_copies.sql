-- gpu_phase_copies: What each label of the program copied to, from and on the GPU, and what it set there.
-- Row: one kind and direction of one label's copies and memsets. Operations are joined to labels as in gpu_phases, by
-- correlation id alone; where that calls a label projected_only, some of its operations may be missing here.
-- Parameters:
--   label (Utf8): only this label; NULL: all
--   label_prefix (Utf8): only labels that begin so; NULL: all
-- Columns:
--   label (Utf8, none): the label
--   kind (Utf8, none): memcpy or memset
--   direction (Utf8, none): which way a copy goes, as in gpu_trace; NULL for a memset
--   operations (Int64, count): operations
--   bytes (Int64, bytes): bytes that they moved or set; NULL where the report has no sizes
--   bytes_step (Int64, bytes): what the last printed digit of the coarsest size stands for; 1: sizes are exact
--   total_ns (Int64, ns): sum of their durations
-- Reads: label_operations
SELECT
  label,
  kind,
  direction,
  count(*) AS operations,
  CAST(sum(bytes) AS BIGINT) AS bytes,
  max(bytes_step) AS bytes_step,
  CAST(sum(duration_ns) AS BIGINT) AS total_ns
FROM label_operations
WHERE kind IN ('memcpy', 'memset')
  AND ($label IS NULL OR label = $label)
  AND ($label_prefix IS NULL OR starts_with(label, $label_prefix))
GROUP BY run_id, label, kind, direction
ORDER BY label, total_ns DESC NULLS LAST, kind, direction, run_id
