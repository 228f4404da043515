-- first_non_finite: Where a value that is not finite was first seen, what was last finite before it, how many followed.
-- Row: a run with a tensor summary, scalar or gradient that is not finite: the earliest by order of recording. It is
-- where such a value was first seen, which need not be where it arose. The last finite summary is the last one
-- recorded before it of a tensor that it was made from (itself included), at most 64 steps up data_flow; where its
-- tensor is not known or no such summary exists, the last finite one recorded before it, whatever it describes. path
-- says which.
-- Columns:
--   kind (Utf8, none): tensor_stats or gradient
--   label (Utf8, none): label of the summary, or root/key of the gradient
--   seq (Int64, id): place in the order of recording
--   span_id (Utf8, id): span it was recorded in; NULL for a gradient
--   span_name (Utf8, none): label of that span; NULL where the span was not recorded
--   step (Utf8, none): forward, backward or optimizer: of that span or its nearest ancestor with one; NULL: none
--   tensor_id (Utf8, id): tensor it describes; NULL: not known
--   elements (Int64, count): elements; NULL for a gradient
--   nan (Int64, count): NaN elements; NULL: not told apart
--   pos_inf (Int64, count): +infinite elements; NULL: not told apart
--   neg_inf (Int64, count): -infinite elements; NULL: not told apart
--   non_finite (Int64, count): NaN and infinite elements; NULL for a gradient
--   last_finite_label (Utf8, none): label of the last finite summary; NULL: there is none
--   last_finite_span_id (Utf8, id): span it was recorded in
--   last_finite_seq (Int64, id): its place in the order of recording
--   path (Utf8, none): data_edges (it lies on the data path), recording_order (it was only recorded before) or NULL
--   affected_after (Int64, count): summaries and gradients recorded afterwards that are not finite
--   facts_after (Int64, count): all summaries and gradients recorded afterwards
--   made_by_op (Utf8, none): the first operation recorded with that tensor as output; NULL: none was
--   made_by_span_id (Utf8, id): the span that operation ran in
--   made_by_span_name (Utf8, none): label of that span; NULL where the span was not recorded
-- Reads: gradients, non_finite_events, ops, spans, stat_tensors, tensor_origins, tensor_stats
WITH RECURSIVE first_event AS (
  SELECT *
  FROM (SELECT *, min(seq) OVER (PARTITION BY run_id) AS first_seq FROM non_finite_events) AS e
  WHERE seq = first_seq
),
ancestry AS (
  SELECT s.run_id, s.span_id, s.parent_id, s.step
  FROM first_event AS f
  JOIN spans AS s ON f.run_id = s.run_id AND f.span_id = s.span_id
  UNION
  SELECT s.run_id, s.span_id, s.parent_id, s.step
  FROM ancestry AS a
  JOIN spans AS s ON a.run_id = s.run_id AND a.parent_id = s.span_id
  WHERE a.step IS NULL
),
upstream AS (
  SELECT run_id, tensor_id, CAST(0 AS BIGINT) AS hops FROM first_event WHERE tensor_id IS NOT NULL
  UNION
  -- The rows to go on from are few and stand left; every tensor's origins stream past them.
  SELECT run_id, input AS tensor_id, steps AS hops
  FROM (
    SELECT u.run_id, u.tensor_id AS made, unnest(t.from_tensors) AS input, u.hops + 1 AS steps
    FROM upstream AS u
    JOIN tensor_origins AS t ON u.run_id = t.run_id AND u.tensor_id = t.tensor_id
    WHERE u.hops < 64
  ) AS f
  WHERE input <> made AND input <> ''
),
makers AS (
  SELECT f.run_id, min(o.seq) AS seq
  FROM first_event AS f
  JOIN ops AS o ON f.run_id = o.run_id AND f.tensor_id = o.output
  GROUP BY f.run_id
),
made AS (
  SELECT k.run_id, o.name, o.span_id
  FROM makers AS k
  JOIN ops AS o ON k.run_id = o.run_id AND k.seq = o.seq
),
facts AS (
  SELECT run_id, seq, tensor_id, true AS is_summary, non_finite > 0 AS is_bad FROM stat_tensors
  UNION ALL
  SELECT run_id, seq, CAST(NULL AS VARCHAR) AS tensor_id, false AS is_summary, state = 'non_finite' AS is_bad
  FROM gradients
),
around AS (
  -- Every summary before the first that is not finite is finite.
  SELECT
    f.run_id,
    max(CASE WHEN x.is_summary AND x.seq < f.seq AND u.tensor_id IS NOT NULL THEN x.seq END) AS upstream_seq,
    max(CASE WHEN x.is_summary AND x.seq < f.seq THEN x.seq END) AS before_seq,
    count(CASE WHEN x.seq > f.seq AND x.is_bad THEN 1 END) AS affected_after,
    count(CASE WHEN x.seq > f.seq THEN 1 END) AS facts_after
  FROM (SELECT DISTINCT run_id, tensor_id FROM upstream) AS u
  RIGHT JOIN facts AS x ON u.run_id = x.run_id AND u.tensor_id = x.tensor_id
  JOIN first_event AS f ON x.run_id = f.run_id
  GROUP BY f.run_id
)
SELECT
  f.kind,
  f.label,
  f.seq,
  CASE WHEN f.span_id IS NOT NULL THEN concat('s', f.span_id) END AS span_id,
  s.name AS span_name,
  a.step,
  f.tensor_id,
  f.elements,
  f.nan,
  f.pos_inf,
  f.neg_inf,
  f.non_finite,
  l.label AS last_finite_label,
  CASE WHEN l.span_id IS NOT NULL THEN concat('s', l.span_id) END AS last_finite_span_id,
  l.seq AS last_finite_seq,
  CASE
    WHEN x.upstream_seq IS NOT NULL THEN 'data_edges'
    WHEN x.before_seq IS NOT NULL THEN 'recording_order'
  END AS path,
  x.affected_after,
  x.facts_after,
  m.name AS made_by_op,
  CASE WHEN m.span_id IS NOT NULL THEN concat('s', m.span_id) END AS made_by_span_id,
  p.name AS made_by_span_name
FROM first_event AS f
JOIN around AS x ON f.run_id = x.run_id
LEFT JOIN tensor_stats AS l ON f.run_id = l.run_id AND coalesce(x.upstream_seq, x.before_seq) = l.seq
LEFT JOIN spans AS s ON f.run_id = s.run_id AND f.span_id = s.span_id
LEFT JOIN ancestry AS a ON f.run_id = a.run_id AND a.step IS NOT NULL
LEFT JOIN made AS m ON f.run_id = m.run_id
LEFT JOIN spans AS p ON m.run_id = p.run_id AND m.span_id = p.span_id
ORDER BY f.run_id
