-- gpu_memory_operations: Copies and memsets on the GPUs by kind and direction, largest total time first.
-- Row: one kind with one direction, over all GPUs and streams: no kernels and no graphs. Times are added up whether or
-- not operations ran side by side. Sizes are added up as printed: reports in MB round each of them.
-- Columns:
--   kind (Utf8, none): memcpy, memset, or other for what is named in brackets and not known
--   direction (Utf8, none): host_to_device, device_to_host, device_to_device, host_to_host or peer_to_peer; NULL: none
--   operations (Int64, count): operations
--   bytes (Int64, bytes): sum of the sizes that are known; NULL where none is
--   bytes_step (Int64, bytes): what the last digit of the coarsest size stands for; 1: all are exact
--   total_ns (Int64, ns): sum of their durations
--   share (Float64, none): part of the durations of all these operations, 0 to 1; NULL: these are 0
-- Reads: gpu_trace
WITH grouped AS (
  SELECT
    kind,
    direction,
    count(*) AS operations,
    CAST(sum(bytes) AS BIGINT) AS bytes,
    max(bytes_step) AS bytes_step,
    CAST(sum(duration_ns) AS BIGINT) AS total_ns
  FROM gpu_trace
  WHERE kind NOT IN ('kernel', 'graph')
  GROUP BY kind, direction
)
SELECT
  kind,
  direction,
  operations,
  bytes,
  bytes_step,
  total_ns,
  CAST(total_ns AS DOUBLE) / NULLIF(CAST(sum(total_ns) OVER () AS DOUBLE), 0) AS share
FROM grouped
ORDER BY total_ns DESC NULLS LAST, kind, direction NULLS LAST
