-- tensor_stat_totals: How many tensor summaries there are and how many met a value that is not finite.
-- Row: always one.
-- Columns:
--   events (Int64, count): summaries
--   non_finite_events (Int64, count): summaries with at least one NaN or infinite element
--   non_finite_elements (Int64, count): NaN or infinite elements over all summaries
-- Reads: tensor_stats
SELECT
  count(*) AS events,
  count(CASE WHEN non_finite > 0 THEN 1 END) AS non_finite_events,
  CAST(coalesce(sum(non_finite), 0) AS BIGINT) AS non_finite_elements
FROM tensor_stats
ORDER BY events
