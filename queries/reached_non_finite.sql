-- reached_non_finite: What the first value that is not finite reached: tensors made from it, and every later such fact.
-- Row: one later fact that is not finite, and one tensor downstream of the first that has no such fact: every fact
-- that first_non_finite counts in affected_after has one row. Downstream means at most 64 steps along data_flow from
-- the tensor of the first fact (hops 0: that tensor, met again); a fact further away, about no known tensor, or in a
-- trace that does not say what was made from what, is later. A tensor without such a fact shows its first summary or
-- else its first tensor record or else the first operation or edge that made it. A downstream tensor without a summary
-- may be anything.
-- Columns:
--   relation (Utf8, none): downstream or later
--   hops (Int64, count): fewest steps from the first tensor; NULL for later
--   tensor_id (Utf8, id): tensor; NULL: not known
--   op_name (Utf8, none): operation that put out the downstream tensor, the first by name; NULL: none recorded
--   state (Utf8, none): non_finite or finite; NULL: no summary of it was recorded
--   kind (Utf8, none): what the row shows: tensor_stats, gradient, tensor, op or edge
--   label (Utf8, none): label of that record, or root/key of the gradient; NULL: none
--   span_id (Utf8, id): span of that record; NULL: it has none
--   span_name (Utf8, none): label of that span; NULL where the span was not recorded
--   elements (Int64, count): elements of the summary; NULL: no summary
--   non_finite (Int64, count): NaN and infinite elements of the summary; NULL: no summary
--   seq (Int64, id): place of that record in the order of recording
-- Reads: non_finite_events, spans, stat_tensors, tensor_origins, tensors
WITH RECURSIVE first_event AS (
  SELECT run_id, seq, tensor_id
  FROM (SELECT run_id, seq, tensor_id, min(seq) OVER (PARTITION BY run_id) AS first_seq FROM non_finite_events) AS e
  WHERE seq = first_seq
),
downstream AS (
  SELECT run_id, tensor_id, CAST(0 AS BIGINT) AS hops FROM first_event WHERE tensor_id IS NOT NULL
  UNION
  -- data_flow without its text columns and without setting aside an input taken twice: UNION does.
  SELECT d.run_id, t.tensor_id, d.hops + 1 AS hops
  FROM downstream AS d
  JOIN (SELECT run_id, tensor_id, unnest(from_tensors) AS input FROM tensor_origins) AS t
    ON d.run_id = t.run_id AND d.tensor_id = t.input
  WHERE d.hops < 64 AND t.tensor_id <> t.input
),
records AS (
  SELECT
    run_id, seq, tensor_id, 1 AS rank, 'tensor_stats' AS kind, label, span_id, CAST(NULL AS VARCHAR) AS op_name,
    elements, non_finite, non_finite > 0 AS is_bad
  FROM stat_tensors
  UNION ALL
  SELECT
    run_id, seq, tensor_id, 1 AS rank, kind, label, span_id, CAST(NULL AS VARCHAR) AS op_name,
    elements, non_finite, true AS is_bad
  FROM non_finite_events
  WHERE kind <> 'tensor_stats'
  UNION ALL
  SELECT
    run_id, seq, tensor_id, 2 AS rank, 'tensor' AS kind, label, span_id, CAST(NULL AS VARCHAR) AS op_name,
    CAST(NULL AS BIGINT) AS elements, CAST(NULL AS BIGINT) AS non_finite, false AS is_bad
  FROM tensors
  UNION ALL
  SELECT
    run_id, seq, tensor_id, 3 AS rank, source AS kind, CAST(NULL AS VARCHAR) AS label, span_id, op_name,
    CAST(NULL AS BIGINT) AS elements, CAST(NULL AS BIGINT) AS non_finite, false AS is_bad
  FROM tensor_origins
),
told AS (
  -- One join against the walk: a second mention would walk again.
  SELECT r.*, d.hops, r.seq > f.seq AS is_after
  FROM (SELECT run_id, tensor_id, min(hops) AS hops FROM downstream GROUP BY run_id, tensor_id) AS d
  RIGHT JOIN records AS r ON d.run_id = r.run_id AND d.tensor_id = r.tensor_id
  JOIN first_event AS f ON r.run_id = f.run_id
  WHERE d.hops IS NOT NULL OR r.is_bad
),
ranked AS (
  SELECT
    *,
    min(op_name) OVER (PARTITION BY run_id, tensor_id) AS made_by,
    max(CASE WHEN is_bad THEN 1 ELSE 0 END) OVER (PARTITION BY run_id, tensor_id) AS has_bad,
    row_number() OVER (PARTITION BY run_id, tensor_id ORDER BY rank, seq) AS place
  FROM told
)
SELECT
  CASE WHEN r.hops IS NULL THEN 'later' ELSE 'downstream' END AS relation,
  r.hops,
  r.tensor_id,
  r.made_by AS op_name,
  CASE WHEN r.is_bad THEN 'non_finite' WHEN r.rank = 1 THEN 'finite' END AS state,
  r.kind,
  r.label,
  CASE WHEN r.span_id IS NOT NULL THEN concat('s', r.span_id) END AS span_id,
  s.name AS span_name,
  r.elements,
  r.non_finite,
  r.seq
FROM ranked AS r
LEFT JOIN spans AS s ON r.run_id = s.run_id AND r.span_id = s.span_id
WHERE (r.is_bad AND r.is_after) OR (r.has_bad = 0 AND r.hops > 0 AND r.place = 1)
ORDER BY r.hops NULLS LAST, r.seq, r.run_id, r.tensor_id
