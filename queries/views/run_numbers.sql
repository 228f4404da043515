-- run_numbers: Each run as a number, for what is sorted or joined a million times over.
-- Row: one run. Integers are compared then, never text; views that are joined on the number take it from here.
-- Columns:
--   run_id (Utf8, id): the run
--   run_number (Int64, id): its number, from 1; it depends on the other runs
-- Reads: run
SELECT run_id, CAST(row_number() OVER (ORDER BY run_id) AS BIGINT) AS run_number
FROM run
