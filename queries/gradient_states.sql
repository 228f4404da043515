-- gradient_states: Gradients by state, with the range of their norms.
-- Row: one state that occurs.
-- Columns:
--   state (Utf8, none): present, zero, missing or non_finite
--   gradients (Int64, count): gradients in that state
--   min_norm (Float64, tensor value): smallest norm; NULL where the state has none
--   max_norm (Float64, tensor value): largest norm; NULL where the state has none
-- Reads: gradients
SELECT
  state,
  count(*) AS gradients,
  min(norm) AS min_norm,
  max(norm) AS max_norm
FROM gradients
GROUP BY state
ORDER BY state
