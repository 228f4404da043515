-- range_covers: Which NVTX ranges of a thread are open when one of its ranges begins.
-- Row: one range (the anchor) and one range of its thread that is open when it begins: itself, and those around it. What
-- the thread does before its next range begins is in these ranges, each until it closes, and in no other. Of ranges
-- that begin together the one with the greatest number has them all. A range without length is never open, and one whose
-- thread or start nobody knows is left out.
-- Columns:
--   run_id (Utf8, id): the run
--   anchor_number (Int64, id): range_number of the anchor
--   range_number (Int64, id): the range that is open
--   label_number (Int64, id): its label as a number, as in nvtx_ranges
--   label (Utf8, none): its label
--   is_program (Boolean, none): whether that is a label of the program
--   end_ns (Int64, ns (nsight clock)): when it closes
-- Reads: nvtx_ranges
WITH events AS (
  SELECT
    r.run_id,
    r.run_number,
    r.process_id,
    r.thread_id,
    r.range_number,
    r.label_number,
    r.label,
    r.is_program,
    r.end_ns,
    e.is_end,
    CASE WHEN e.is_end THEN r.end_ns ELSE r.start_ns END AS at_ns
  FROM (SELECT FALSE AS is_end UNION ALL SELECT TRUE AS is_end) AS e
  CROSS JOIN nvtx_ranges AS r
  WHERE r.process_id IS NOT NULL AND r.thread_id IS NOT NULL AND r.start_ns IS NOT NULL
),
swept AS (
  SELECT
    *,
    -- The last range that began before this moment; what begins as another ends is not in it.
    max(CASE WHEN NOT is_end THEN range_number END) OVER (
      PARTITION BY run_number, process_id, thread_id ORDER BY at_ns, is_end DESC NULLS LAST, range_number
      ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
    ) AS last_number
  FROM events
)
SELECT
  run_id,
  -- Numbers of a thread's ranges follow each other as they begin.
  unnest(generate_series(range_number, last_number)) AS anchor_number,
  range_number,
  label_number,
  label,
  is_program,
  end_ns
FROM swept
WHERE is_end AND last_number >= range_number
