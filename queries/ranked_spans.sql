-- ranked_spans: How many spans slowest_host ranks, counted without ranking them.
-- Row: always one.
-- Columns:
--   spans (Int64, count): closed spans in a measured region's subtree or overlapping it
-- Reads: span_scopes, spans
SELECT
  count(*) AS spans
FROM span_scopes AS x
JOIN spans AS s ON x.run_id = s.run_id AND x.span_id = s.span_id
WHERE x.scope <> 'outside' AND s.duration_ns IS NOT NULL
ORDER BY spans
