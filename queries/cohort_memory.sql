-- cohort_memory: The peak of logical memory of each of many runs, over all its devices at once.
-- Row: a run that recorded logical memory.
-- Columns:
--   run_id (Utf8, id): the run
--   peak_live_bytes (Int64, bytes): most bytes of storages live at once, as far as the program recorded them
-- Reads: peak_moment
SELECT run_id, live_bytes AS peak_live_bytes
FROM peak_moment
ORDER BY run_id
