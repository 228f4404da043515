-- span_times: Total and self host time of each span, whole and clipped to the measured region.
-- Row: one span; a span that never closed has NULL times and covers nothing of its parent. Self time is the total minus
-- the union of the child spans' intervals, each clipped to the parent: overlapping children count once, so it is never
-- negative. The clipped columns keep only what lies in the measured region, and are NULL in a run without one.
-- Columns:
--   run_id (Utf8, id): the run
--   span_id (Int64, id): the span
--   parent_id (Int64, id): its parent; NULL for the root
--   name (Utf8, none): label
--   kind (Utf8, none): function, op or module
--   step (Utf8, none): forward, backward, optimizer or NULL
--   measured (Boolean, none): whether it is the measured region
--   thread_id (Int64, id): thread that opened it
--   start_ns (Int64, ns (session clock)): when it opened
--   total_ns (Int64, ns): wall time
--   self_ns (Int64, ns): wall time outside its child spans
--   cpu_ns (Int64, ns): CPU time of its thread, where known
--   scope (Utf8, none): measured_subtree, concurrent_overlap or outside
--   measured_ns (Int64, ns): wall time inside the measured region
--   measured_self_ns (Int64, ns): self time inside the measured region
-- Reads: measured_region, span_scopes, spans
WITH child AS (
  SELECT
    c.run_id,
    c.parent_id,
    c.span_id,
    greatest(c.start_ns, p.start_ns) AS start_ns,
    least(c.start_ns + c.duration_ns, p.start_ns + p.duration_ns) AS end_ns
  FROM spans AS c
  JOIN spans AS p ON c.run_id = p.run_id AND c.parent_id = p.span_id
  WHERE c.duration_ns IS NOT NULL AND p.duration_ns IS NOT NULL
),
swept AS (
  SELECT
    run_id,
    parent_id,
    end_ns,
    greatest(
      start_ns,
      coalesce(
        max(end_ns) OVER (
          PARTITION BY run_id, parent_id ORDER BY start_ns, end_ns, span_id
          ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ),
        start_ns
      )
    ) AS new_from_ns
  FROM child
),
covered AS (
  SELECT
    w.run_id,
    w.parent_id,
    sum(greatest(w.end_ns - w.new_from_ns, 0)) AS covered_ns,
    sum(greatest(least(w.end_ns, m.end_ns) - greatest(w.new_from_ns, m.start_ns), 0)) AS covered_measured_ns
  FROM swept AS w
  LEFT JOIN measured_region AS m ON w.run_id = m.run_id
  GROUP BY w.run_id, w.parent_id
)
SELECT
  s.run_id,
  s.span_id,
  s.parent_id,
  s.name,
  s.kind,
  s.step,
  s.measured,
  s.thread_id,
  s.start_ns,
  s.duration_ns AS total_ns,
  CAST(s.duration_ns - coalesce(c.covered_ns, 0) AS BIGINT) AS self_ns,
  s.cpu_ns,
  x.scope,
  -- greatest and least pass over NULL, so an absent end or region must be ruled out first.
  CASE WHEN s.duration_ns IS NOT NULL AND m.duration_ns IS NOT NULL
    THEN greatest(least(s.start_ns + s.duration_ns, m.end_ns) - greatest(s.start_ns, m.start_ns), 0)
  END AS measured_ns,
  CAST(
    CASE WHEN s.duration_ns IS NOT NULL AND m.duration_ns IS NOT NULL
      THEN greatest(least(s.start_ns + s.duration_ns, m.end_ns) - greatest(s.start_ns, m.start_ns), 0)
    END - coalesce(c.covered_measured_ns, 0)
  AS BIGINT) AS measured_self_ns
FROM spans AS s
JOIN span_scopes AS x ON s.run_id = x.run_id AND s.span_id = x.span_id
LEFT JOIN measured_region AS m ON s.run_id = m.run_id
LEFT JOIN covered AS c ON s.run_id = c.run_id AND s.span_id = c.parent_id
