-- activation_summary: How many operations made an activation, on what evidence, and what belongs to none of them.
-- Row: one run. In a run without a measured region every count is NULL: nobody can say what lies in it.
-- Columns:
--   run_id (Utf8, id): the run
--   observed_operations (Int64, count): operations of activation_ops
--   tensor_output_operations (Int64, count): of these, those whose output was recorded as an activation
--   logical_storage_operations (Int64, count): of these, those that own a storage
--   both_sources_operations (Int64, count): of these, those with both
--   dense_output_operations (Int64, count): of these, those whose output's footprint was given
--   operations_on_devices (Int64, count): of these, those whose device is not cpu
--   operations_with_device_time (Int64, count): of these, those with a span of their own and device intervals in it
--   attributed_storages (Int64, count): activation storages allocated in the measured subtree that an operation owns
--   attributed_bytes (Int64, bytes): their sizes together
--   unattributed_storages (Int64, count): activation storages allocated in the measured subtree that none owns
--   unattributed_bytes (Int64, bytes): their sizes together
-- Reads: activation_ops, measured_region, op_device_times, run, span_scopes, storage_lifetimes
WITH timed AS (
  SELECT DISTINCT run_id, span_id FROM op_device_times
),
observed AS (
  SELECT
    a.run_id,
    count(*) AS operations,
    count(CASE WHEN a.classification_sources[1] = 'tensor_output' THEN 1 END) AS tensor_output,
    count(a.logical_storage_count) AS logical_storage,
    count(CASE WHEN a.classification_sources[1] = 'tensor_output' THEN a.logical_storage_count END) AS both_sources,
    count(a.dense_output_bytes) AS dense_output,
    count(CASE WHEN a.device <> 'cpu' THEN 1 END) AS on_devices,
    count(t.span_id) AS with_device_time,
    CAST(sum(a.logical_storage_count) AS BIGINT) AS storages,
    CAST(sum(a.logical_allocated_bytes) AS BIGINT) AS bytes
  FROM timed AS t
  RIGHT JOIN activation_ops AS a ON t.run_id = a.run_id AND t.span_id = a.span_id
  GROUP BY a.run_id
),
allocated AS (
  SELECT x.run_id, count(*) AS storages, CAST(sum(l.bytes) AS BIGINT) AS bytes
  FROM span_scopes AS x
  JOIN storage_lifetimes AS l ON x.run_id = l.run_id AND x.span_id = l.span_id
  WHERE x.scope = 'measured_subtree' AND l.category = 'activation'
  GROUP BY x.run_id
)
SELECT
  r.run_id,
  CASE WHEN m.span_id IS NOT NULL THEN coalesce(o.operations, 0) END AS observed_operations,
  CASE WHEN m.span_id IS NOT NULL THEN coalesce(o.tensor_output, 0) END AS tensor_output_operations,
  CASE WHEN m.span_id IS NOT NULL THEN coalesce(o.logical_storage, 0) END AS logical_storage_operations,
  CASE WHEN m.span_id IS NOT NULL THEN coalesce(o.both_sources, 0) END AS both_sources_operations,
  CASE WHEN m.span_id IS NOT NULL THEN coalesce(o.dense_output, 0) END AS dense_output_operations,
  CASE WHEN m.span_id IS NOT NULL THEN coalesce(o.on_devices, 0) END AS operations_on_devices,
  CASE WHEN m.span_id IS NOT NULL THEN coalesce(o.with_device_time, 0) END AS operations_with_device_time,
  CASE WHEN m.span_id IS NOT NULL THEN coalesce(o.storages, 0) END AS attributed_storages,
  CASE WHEN m.span_id IS NOT NULL THEN coalesce(o.bytes, 0) END AS attributed_bytes,
  CASE WHEN m.span_id IS NOT NULL THEN coalesce(a.storages, 0) - coalesce(o.storages, 0) END AS unattributed_storages,
  CASE WHEN m.span_id IS NOT NULL THEN coalesce(a.bytes, 0) - coalesce(o.bytes, 0) END AS unattributed_bytes
FROM run AS r
LEFT JOIN measured_region AS m ON r.run_id = m.run_id
LEFT JOIN observed AS o ON r.run_id = o.run_id
LEFT JOIN allocated AS a ON r.run_id = a.run_id
ORDER BY r.run_id
