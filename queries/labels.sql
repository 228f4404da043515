-- labels: Every semantic label and how many events carry it.
-- Row: one label of one kind; kinds in the order spans, tensors, tensor-stats, gradients (as root/key).
-- Parameters:
--   label (Utf8): only this label; NULL: all
--   label_prefix (Utf8): only labels that begin so; NULL: all
-- Columns:
--   kind (Utf8, none): spans, tensors, tensor-stats or gradients
--   label (Utf8, none): label
--   events (Int64, count): events that carry it
-- Reads: gradients, spans, tensor_stats, tensors
WITH labelled AS (
  SELECT 1 AS rank, 'spans' AS kind, name AS label FROM spans
  UNION ALL
  SELECT 2 AS rank, 'tensors' AS kind, label FROM tensors WHERE label IS NOT NULL
  UNION ALL
  SELECT 3 AS rank, 'tensor-stats' AS kind, label FROM tensor_stats
  UNION ALL
  SELECT 4 AS rank, 'gradients' AS kind, concat(root, '/', key) AS label FROM gradients
)
SELECT
  kind,
  label,
  count(*) AS events
FROM labelled
WHERE ($label IS NULL OR label = $label)
  AND ($label_prefix IS NULL OR starts_with(label, $label_prefix))
GROUP BY rank, kind, label
ORDER BY rank, label
