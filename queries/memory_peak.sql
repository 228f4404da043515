-- memory_peak: The simultaneous peak of logical memory over all devices of a run.
-- Row: a run with a storage live at its peak: the first moment of the largest sum of live storages. It is no sum of the
-- devices' own peaks, which memory_totals has: those may lie at different moments.
-- Columns:
--   timestamp_ns (Int64, ns (session clock)): when the peak was first reached
--   live_bytes (Int64, bytes): sum of the storages live then
--   storages (Int64, count): storages live then
--   devices (Int64, count): devices that held one of them
-- Reads: peak_storages
SELECT
  min(peak_ns) AS timestamp_ns,
  min(peak_live_bytes) AS live_bytes,
  count(*) AS storages,
  count(DISTINCT device) AS devices
FROM peak_storages
GROUP BY run_id
ORDER BY run_id
