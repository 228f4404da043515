-- host_hotspots: Host time by span name, longest self time inside the measured region first.
-- Row: one name in one scope, over all closed spans of the measured scope. A name that occurs in the region's subtree
-- and beside it has two rows, which are never added. Percentiles are exact: the duration at the rank, or between two
-- ranks their linear interpolation. A span lies in its ancestors, so total_ns counts time more than once; self time
-- does so only where siblings overlap. Several runs count together. Host time is never device time.
-- Parameters:
--   label (Utf8): only spans of this name; NULL: all
--   label_prefix (Utf8): only spans whose name begins so; NULL: all
-- Columns:
--   name (Utf8, none): label
--   scope (Utf8, none): measured_subtree or concurrent_overlap
--   calls (Int64, count): spans
--   total_ns (Int64, ns): sum of wall time
--   self_ns (Int64, ns): sum of wall time outside child spans
--   measured_ns (Int64, ns): sum of wall time inside the measured region
--   measured_self_ns (Int64, ns): sum of self time inside the measured region
--   share (Float64, none): measured_self_ns over the region's wall time; NULL for concurrent_overlap
--   p50_ns (Float64, ns): median wall time
--   p99_ns (Float64, ns): 99th percentile of wall time
--   max_ns (Int64, ns): longest wall time
--   cpu_ns (Int64, ns): sum of thread CPU time where known; NULL where never
-- Reads: measured_region, span_times
WITH grouped AS (
  SELECT
    name,
    scope,
    count(*) AS calls,
    CAST(sum(total_ns) AS BIGINT) AS total_ns,
    CAST(sum(self_ns) AS BIGINT) AS self_ns,
    CAST(sum(measured_ns) AS BIGINT) AS measured_ns,
    CAST(sum(measured_self_ns) AS BIGINT) AS measured_self_ns,
    array_sort(array_agg(total_ns)) AS sorted_ns,
    max(total_ns) AS max_ns,
    CAST(sum(cpu_ns) AS BIGINT) AS cpu_ns
  FROM span_times
  WHERE scope <> 'outside' AND total_ns IS NOT NULL
    AND ($label IS NULL OR name = $label)
    AND ($label_prefix IS NULL OR starts_with(name, $label_prefix))
  GROUP BY name, scope
),
region AS (
  SELECT CAST(sum(duration_ns) AS DOUBLE) AS wall_ns FROM measured_region
),
ranked AS (
  -- The 0-based rank of a percentile among n values is (n - 1) * p: its whole part, and hundredths beyond.
  SELECT
    *,
    CAST(floor(50 * (calls - 1) / 100.0) AS BIGINT) AS p50_rank,
    CAST((50 * (calls - 1)) % 100 AS DOUBLE) / 100.0 AS p50_part,
    CAST(floor(99 * (calls - 1) / 100.0) AS BIGINT) AS p99_rank,
    CAST((99 * (calls - 1)) % 100 AS DOUBLE) / 100.0 AS p99_part
  FROM grouped
)
SELECT
  r.name,
  r.scope,
  r.calls,
  r.total_ns,
  r.self_ns,
  r.measured_ns,
  r.measured_self_ns,
  CASE WHEN r.scope = 'measured_subtree' THEN CAST(r.measured_self_ns AS DOUBLE) / NULLIF(g.wall_ns, 0) END AS share,
  CAST(r.sorted_ns[r.p50_rank + 1] AS DOUBLE)
    + CAST(coalesce(r.sorted_ns[r.p50_rank + 2], r.max_ns) - r.sorted_ns[r.p50_rank + 1] AS DOUBLE) * r.p50_part
    AS p50_ns,
  CAST(r.sorted_ns[r.p99_rank + 1] AS DOUBLE)
    + CAST(coalesce(r.sorted_ns[r.p99_rank + 2], r.max_ns) - r.sorted_ns[r.p99_rank + 1] AS DOUBLE) * r.p99_part
    AS p99_ns,
  r.max_ns,
  r.cpu_ns
FROM ranked AS r
CROSS JOIN region AS g
ORDER BY r.measured_self_ns DESC NULLS LAST, r.name, r.scope
