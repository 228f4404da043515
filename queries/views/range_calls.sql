-- range_calls: API calls in each NVTX range that caused GPU work.
-- Row: one range with at least one such call: one of its thread that began in it, at its start or later and before its
-- end. Ranges inside each other count the same calls. Ambiguous calls are in no range.
-- Columns:
--   run_id (Utf8, id): the run
--   range_number (Int64, id): the range, in nvtx_ranges
--   label (Utf8, none): its label
--   is_program (Boolean, none): whether that is a label of the program
--   calls (Int64, count): calls that caused GPU work; correlation ids, each once
--   operations (Int64, count): operations that they caused
-- Reads: gpu_call_places, range_covers
SELECT
  c.run_id,
  c.range_number,
  min(c.label) AS label,
  bool_and(c.is_program) AS is_program,
  count(*) AS calls,
  CAST(sum(p.operations) AS BIGINT) AS operations
FROM range_covers AS c
JOIN gpu_call_places AS p ON c.anchor_number = p.anchor_number
WHERE p.start_ns < c.end_ns
GROUP BY c.run_id, c.range_number
