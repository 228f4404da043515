-- label_covers: Under which labels of the program a thread is when one of its NVTX ranges begins.
-- Row: one range (the anchor) and one label that it or a range around it carries; as range_covers otherwise.
-- Columns:
--   run_id (Utf8, id): the run
--   anchor_number (Int64, id): range_number of the anchor
--   label_number (Int64, id): the label as a number, as in nvtx_ranges
--   label (Utf8, none): the label
--   end_ns (Int64, ns (nsight clock)): when the last of the label's ranges around it closes
-- Reads: range_covers
SELECT
  run_id,
  anchor_number,
  label_number,
  label,
  max(end_ns) AS end_ns
FROM range_covers
WHERE is_program
GROUP BY run_id, anchor_number, label_number, label
