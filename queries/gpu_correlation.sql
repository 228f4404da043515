-- gpu_correlation: Which labels the contract expects on the GPU, and which were seen there.
-- Row: one label that the contract expects on the GPU or on the CPU alone, or that a range with GPU work carries; none of
-- a run whose ranges cannot be told (no projection was read, nor all that is joined by correlation id). Labels of named
-- domains, as of a library, are left out unless the contract names them.
-- Parameters:
--   label (Utf8): only this label; NULL: all
--   label_prefix (Utf8): only labels that begin so; NULL: all
-- Columns:
--   label (Utf8, none): the label
--   role (Utf8, none): gpu_expected, cpu_only, or none where the contract does not say
--   ranges (Int64, count): its ranges with GPU work: by the projection, and where none was read by correlation id
--   duplicate (Boolean, none): whether there are several of a label that the contract names or nobody knows
--   status (Utf8, none): matched, missing_expected, unexpected_observed, unexpected_cpu_only; cpu_only for a label that
--     rightly was not seen; span for a span of the trace that the contract does not name, which proves nothing
-- Reads: gpu_sources, nvtx_ranges, range_calls, semantic_labels, spans
WITH observed AS (
  SELECT r.run_id, r.label, count(*) AS ranges
  FROM gpu_sources AS s
  JOIN nvtx_ranges AS r ON s.run_id = r.run_id
  WHERE s.has_projection AND r.is_program AND r.gpu_operations > 0
  GROUP BY r.run_id, r.label
  UNION ALL
  -- Where no run is such, the engine never begins with the right side of this join.
  SELECT s.run_id, c.label, count(*) AS ranges
  FROM gpu_sources AS s
  JOIN range_calls AS c ON s.run_id = c.run_id
  WHERE s.is_joined AND NOT s.has_projection AND c.is_program
  GROUP BY s.run_id, c.label
),
listed AS (
  SELECT run_id, label, role, 0 AS ranges FROM semantic_labels WHERE role <> 'none'
  UNION ALL
  SELECT run_id, label, 'none' AS role, ranges FROM observed
),
labelled AS (
  SELECT
    run_id,
    label,
    coalesce(max(CASE WHEN role <> 'none' THEN role END), 'none') AS role,
    CAST(sum(ranges) AS BIGINT) AS ranges
  FROM listed
  GROUP BY run_id, label
),
-- The recorder makes a range of each span, the root included: only what is no span was not to be expected.
named AS (
  SELECT DISTINCT run_id, name FROM spans
)
SELECT
  l.label,
  l.role,
  l.ranges,
  l.ranges > 1 AND (l.role <> 'none' OR n.name IS NULL) AS duplicate,
  CASE
    WHEN l.role = 'gpu_expected' AND l.ranges > 0 THEN 'matched'
    WHEN l.role = 'gpu_expected' THEN 'missing_expected'
    WHEN l.role = 'cpu_only' AND l.ranges > 0 THEN 'unexpected_cpu_only'
    WHEN l.role = 'cpu_only' THEN 'cpu_only'
    WHEN n.name IS NOT NULL THEN 'span'
    ELSE 'unexpected_observed'
  END AS status
FROM gpu_sources AS s
JOIN labelled AS l ON s.run_id = l.run_id
LEFT JOIN named AS n ON l.run_id = n.run_id AND l.label = n.name
WHERE (s.has_projection OR s.is_joined)
  AND ($label IS NULL OR l.label = $label)
  AND ($label_prefix IS NULL OR starts_with(l.label, $label_prefix))
ORDER BY l.label, l.run_id
