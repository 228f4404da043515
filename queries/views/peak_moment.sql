-- peak_moment: When most logical memory was live at once in each run, over all its devices.
-- Row: a run that recorded logical memory. Live bytes rise at alloc and fall at free and end_unobserved, in order of
-- time, then of recording; the peak is the first moment of the largest value.
-- Columns:
--   run_id (Utf8, id): the run
--   timestamp_ns (Int64, ns (session clock)): when the peak was first reached
--   seq (Int64, count): place of the event that reached it in the order of recording
--   live_bytes (Int64, bytes): sum of the storages live then
-- Reads: memory, run
WITH runs AS (
  -- A number for each run: the sort below then compares integers, never text.
  SELECT run_id, row_number() OVER (ORDER BY run_id) AS run_number FROM run
),
moved AS (
  SELECT
    run_number,
    timestamp_ns,
    seq,
    sum(delta_bytes) OVER (
      PARTITION BY run_number ORDER BY timestamp_ns, seq ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
    ) AS live_bytes
  FROM (
    SELECT
      r.run_number,
      m.timestamp_ns,
      m.seq,
      CASE WHEN m.action = 'alloc' THEN m.bytes ELSE -m.bytes END AS delta_bytes
    FROM runs AS r
    JOIN memory AS m ON r.run_id = m.run_id
  ) AS change
),
peaks AS (
  -- One row a run is kept while the events pass by; a second window would hold them all.
  SELECT DISTINCT ON (run_number)
    run_number,
    timestamp_ns,
    seq,
    live_bytes
  FROM moved
  ORDER BY run_number, live_bytes DESC NULLS LAST, timestamp_ns, seq
)
SELECT
  r.run_id,
  p.timestamp_ns,
  p.seq,
  CAST(p.live_bytes AS BIGINT) AS live_bytes
FROM runs AS r
JOIN peaks AS p ON r.run_number = p.run_number
