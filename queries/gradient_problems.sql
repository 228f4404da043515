-- gradient_problems: Parameters whose gradient is not present, by state.
-- Row: one gradient that is non_finite, missing or zero. A missing gradient is expected of a frozen parameter; the
-- gradient contract, where there is one, says which.
-- Columns:
--   root (Utf8, none): collection of the parameter
--   key (Utf8, none): parameter
--   state (Utf8, none): non_finite, missing or zero
-- Reads: gradients
SELECT
  root,
  key,
  state
FROM gradients
WHERE state <> 'present'
ORDER BY CASE state WHEN 'non_finite' THEN 1 WHEN 'missing' THEN 2 ELSE 3 END, root, key, run_id, seq
