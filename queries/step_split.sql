-- step_split: Wall time of the measured region by step: forward, backward, optimizer and untracked.
-- Row: always these four, in this order, for each run with a measured region. Each moment of the region belongs to the
-- span of its critical path, and to that span's step or its nearest ancestor's, so that the four add up to the region's
-- wall time exactly even where steps overlap; a moment without a step is untracked. Time of spans beside the region is
-- never counted.
-- Columns:
--   step (Utf8, none): forward, backward, optimizer or untracked
--   spans (Int64, count): closed spans of the region's subtree that state the step; untracked: that state none
--   wall_ns (Int64, ns): wall time; NULL: no closed span of the subtree states the step, so that it was not recorded
--   share (Float64, none): part of the region's wall time, 0 to 1; NULL where wall_ns is or the region has no length
-- Reads: critical_spans, measured_region, span_scopes, spans
WITH steps AS (
  SELECT rank, step
  FROM (VALUES (1, 'forward'), (2, 'backward'), (3, 'optimizer'), (4, 'untracked')) AS listed(rank, step)
),
stated AS (
  SELECT
    x.run_id,
    coalesce(s.step, 'untracked') AS step,
    count(*) AS spans
  FROM span_scopes AS x
  JOIN spans AS s ON x.run_id = s.run_id AND x.span_id = s.span_id
  WHERE x.scope = 'measured_subtree' AND s.duration_ns IS NOT NULL
  GROUP BY x.run_id, coalesce(s.step, 'untracked')
),
walls AS (
  SELECT
    run_id,
    coalesce(step, 'untracked') AS step,
    CAST(sum(path_ns) AS BIGINT) AS wall_ns
  FROM critical_spans
  GROUP BY run_id, coalesce(step, 'untracked')
)
SELECT
  p.step,
  coalesce(t.spans, 0) AS spans,
  CASE WHEN p.step = 'untracked' OR t.spans > 0 THEN coalesce(w.wall_ns, 0) END AS wall_ns,
  CAST(CASE WHEN p.step = 'untracked' OR t.spans > 0 THEN coalesce(w.wall_ns, 0) END AS DOUBLE)
    / NULLIF(CAST(m.duration_ns AS DOUBLE), 0) AS share
FROM measured_region AS m
CROSS JOIN steps AS p
LEFT JOIN stated AS t ON m.run_id = t.run_id AND p.step = t.step
LEFT JOIN walls AS w ON m.run_id = w.run_id AND p.step = w.step
ORDER BY m.run_id, p.rank
