-- device_memory: Physical memory checkpoints by device: how many, and the range of what was in use.
-- Row: one device. Checkpoints have no operation and no tensor, so they attribute nothing.
-- Columns:
--   device (Utf8, none): device or allocator
--   samples (Int64, count): checkpoints
--   min_used_bytes (Int64, bytes): smallest in use; NULL where never given
--   max_used_bytes (Int64, bytes): largest in use; NULL where never given
--   max_reserved_bytes (Int64, bytes): largest reserved; NULL where never given
--   capacity_bytes (Int64, bytes): capacity; NULL where never given
-- Reads: device_memory
SELECT
  device,
  count(*) AS samples,
  min(used_bytes) AS min_used_bytes,
  max(used_bytes) AS max_used_bytes,
  max(reserved_bytes) AS max_reserved_bytes,
  max(capacity_bytes) AS capacity_bytes
FROM device_memory
GROUP BY device
ORDER BY device
