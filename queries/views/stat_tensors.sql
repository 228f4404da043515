-- stat_tensors: Tensor summaries and scalars, each with the tensor it describes where that is known.
-- Row: one summary. A summary carries a label, no tensor: its tensor is the one that was recorded in the same span
-- under the same label. Where no tensor was, or several were, nothing says which it is, and tensor_id is NULL.
-- Columns:
--   run_id (Utf8, id): the run
--   seq (Int64, id): place in the order of recording
--   span_id (Int64, id): span it was recorded in
--   label (Utf8, none): label
--   tensor_id (Utf8, id): the tensor; NULL: not known
--   elements (Int64, count): elements
--   nan (Int64, count): NaN elements; NULL: not told apart
--   pos_inf (Int64, count): +infinite elements; NULL: not told apart
--   neg_inf (Int64, count): -infinite elements; NULL: not told apart
--   non_finite (Int64, count): NaN and infinite elements
-- Reads: tensor_stats, tensors
WITH named AS (
  -- Summaries are far fewer than tensors, so they choose the tensors that are grouped.
  SELECT
    t.run_id,
    t.span_id,
    t.label,
    min(t.tensor_id) AS tensor_id
  FROM (SELECT DISTINCT run_id, span_id, label FROM tensor_stats) AS s
  JOIN tensors AS t ON s.run_id = t.run_id AND s.span_id = t.span_id AND s.label = t.label
  GROUP BY t.run_id, t.span_id, t.label
  HAVING min(t.tensor_id) = max(t.tensor_id)
)
SELECT
  s.run_id,
  s.seq,
  s.span_id,
  s.label,
  n.tensor_id,
  s.elements,
  s.nan,
  s.pos_inf,
  s.neg_inf,
  s.non_finite
FROM tensor_stats AS s
LEFT JOIN named AS n ON s.run_id = n.run_id AND s.span_id = n.span_id AND s.label = n.label
