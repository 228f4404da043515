-- non_finite_stats: Tensor summaries and scalars that hold a value that is not finite, in order of recording.
-- Row: one summary with at least one NaN or infinite element; the first row is where such a value was first seen, which
-- need not be where it arose.
-- Columns:
--   label (Utf8, none): label
--   span_id (Utf8, id): span it was recorded in
--   span_name (Utf8, none): label of that span; NULL where the span was not recorded
--   elements (Int64, count): elements
--   nan (Int64, count): NaN elements; NULL: not told apart
--   pos_inf (Int64, count): +infinite elements; NULL: not told apart
--   neg_inf (Int64, count): -infinite elements; NULL: not told apart
--   non_finite (Int64, count): NaN and infinite elements
-- Reads: spans, tensor_stats
SELECT
  t.label,
  concat('s', t.span_id) AS span_id,
  s.name AS span_name,
  t.elements,
  t.nan,
  t.pos_inf,
  t.neg_inf,
  t.non_finite
FROM tensor_stats AS t
LEFT JOIN spans AS s ON t.run_id = s.run_id AND t.span_id = s.span_id
WHERE t.non_finite > 0
ORDER BY t.run_id, t.seq
