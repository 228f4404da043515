-- gpu_idle_labels: Labels that the contract expects on the GPU and that ran no kernel there.
-- Row: one such label: no call that caused a kernel or a CUDA graph began in a range with it, as far as gpu_phases joins
-- the label by correlation id; or the projection was read and has no range with it. None of a run of which neither is
-- known.
-- Parameters:
--   label (Utf8): only this label; NULL: all
--   label_prefix (Utf8): only labels that begin so; NULL: all
-- Columns:
--   label (Utf8, none): the label
--   ranges (Int64, count): NVTX ranges with it, with and without GPU work
--   projected_ranges (Int64, count): those that the projection has; NULL where none was read
--   gpu_operations (Int64, count): GPU operations of its calls; NULL where the label is projected_only in gpu_phases
--   reason (Utf8, none): no_range: no range with it was read; no_operation: nothing was launched in its ranges; no_kernel:
--     copies or memsets were, and no kernel
-- Reads: gpu_call_places, gpu_sources, label_attribution, label_covers, semantic_labels
WITH worked AS (
  SELECT
    c.label_number,
    CAST(sum(p.operations) AS BIGINT) AS operations,
    CAST(sum(p.kernels + p.graphs) AS BIGINT) AS kernels
  FROM label_covers AS c
  JOIN gpu_call_places AS p ON c.anchor_number = p.anchor_number
  WHERE p.start_ns < c.end_ns
  GROUP BY c.label_number
),
expected AS (
  SELECT
    l.run_id,
    l.label,
    coalesce(a.all_ranges, 0) AS ranges,
    CASE WHEN s.has_projection THEN coalesce(a.projected_ranges, 0) END AS projected_ranges,
    s.is_joined AND coalesce(a.attribution <> 'projected_only', TRUE) AS is_known,
    coalesce(w.operations, 0) AS gpu_operations,
    coalesce(w.kernels, 0) AS kernels
  FROM gpu_sources AS s
  JOIN semantic_labels AS l ON s.run_id = l.run_id
  LEFT JOIN label_attribution AS a ON l.run_id = a.run_id AND l.label = a.label
  LEFT JOIN worked AS w ON a.label_number = w.label_number
  WHERE l.role = 'gpu_expected'
)
SELECT
  label,
  ranges,
  projected_ranges,
  CASE WHEN is_known THEN gpu_operations END AS gpu_operations,
  CASE
    WHEN ranges = 0 THEN 'no_range'
    WHEN is_known AND gpu_operations > 0 THEN 'no_kernel'
    ELSE 'no_operation'
  END AS reason
FROM expected
WHERE (projected_ranges = 0 OR is_known AND kernels = 0)
  AND ($label IS NULL OR label = $label)
  AND ($label_prefix IS NULL OR starts_with(label, $label_prefix))
ORDER BY label, run_id
