-- activation_ops: The operations of the measured region that made an activation, with what is known of each.
-- Row: one operation recorded in the measured subtree whose output tensor the program called an activation
-- (tensor_output), or that owns a storage (logical_storage): an activation storage allocated in the measured subtree
-- for the operation's output, which no other operation of the run has as output. A storage belongs to at most one
-- operation. An operation without output, and every operation of a run without a region, has no row. Host time, dense
-- footprint and logical storage are separate evidence and never one score; physical memory names no operation. A
-- storage is live from its allocation until, and without, the moment of its end.
-- Columns:
--   run_id (Utf8, id): the run
--   seq (Int64, id): its place in the order of recording
--   span_id (Int64, id): the span it ran in
--   op_index (Int64, id): its position within the span
--   name (Utf8, none): operation
--   output_tensor_id (Utf8, id): its output
--   shape (List<Int64>, count): shape of the output
--   dtype (Utf8, none): element type of the output
--   device (Utf8, none): device of the output
--   start_ns (Int64, ns (session clock)): when it started
--   observed_host_duration_ns (Int64, ns): host time: launch time for an asynchronous device
--   dense_output_bytes (Int64, bytes): footprint of the output, no allocation; NULL: not given
--   classification_sources (List<Utf8>, none): tensor_output, logical_storage or both
--   logical_storage_count (Int64, count): storages it owns; NULL, here and below: none is recorded
--   logical_allocated_bytes (Int64, bytes): their sizes together
--   logical_storage_live_duration_ns (Int64, ns): sum of their lifetimes, each clipped to the measured region
--   logical_byte_nanoseconds (Decimal128(38, 0), byte ns): sum of size times clipped lifetime, exact
--   logical_retained_bytes_at_measured_end (Int64, bytes): sizes of those still live at the region's end
-- Reads: measured_region, ops, span_scopes, storage_lifetimes, tensors
WITH regions AS (
  -- A number for each run: the large sides below then meet on integers and carry no run_id.
  SELECT run_id, start_ns, end_ns, row_number() OVER (ORDER BY run_id) AS run_number FROM measured_region
),
scopes AS (
  SELECT
    x.run_id,
    x.span_id,
    r.run_number,
    x.scope = 'measured_subtree' AS inside,
    r.start_ns AS region_start_ns,
    r.end_ns AS region_end_ns
  FROM regions AS r
  JOIN span_scopes AS x ON r.run_id = x.run_id
),
facts AS (
  -- What is said of a tensor: made by an operation, called an activation, given a storage. To group the three is less
  -- work, and holds less at once, than to join them.
  SELECT
    run_id,
    span_id,
    output AS tensor_id,
    seq AS op_seq,
    false AS recorded,
    CAST(NULL AS BIGINT) AS bytes,
    CAST(NULL AS BIGINT) AS start_ns,
    CAST(NULL AS BIGINT) AS end_ns
  FROM ops
  WHERE output IS NOT NULL
  UNION ALL
  SELECT run_id, span_id, tensor_id, NULL, true, NULL, NULL, NULL FROM tensors WHERE category = 'activation'
  UNION ALL
  SELECT run_id, span_id, tensor_id, NULL, false, bytes, start_ns, end_ns
  FROM storage_lifetimes
  WHERE category = 'activation'
),
placed AS (
  SELECT
    s.run_number,
    s.inside,
    f.tensor_id,
    f.op_seq,
    f.recorded,
    f.bytes,
    CASE WHEN f.bytes IS NOT NULL THEN
      greatest(least(coalesce(f.end_ns, s.region_end_ns), s.region_end_ns) - greatest(f.start_ns, s.region_start_ns), 0)
    END AS live_ns,
    CASE WHEN f.start_ns < s.region_end_ns AND coalesce(f.end_ns > s.region_end_ns, true) THEN f.bytes ELSE 0
    END AS retained_bytes
  FROM scopes AS s
  JOIN facts AS f ON s.run_id = f.run_id AND s.span_id = f.span_id
  WHERE s.inside OR f.bytes IS NULL
),
made AS (
  SELECT
    run_number,
    count(op_seq) AS op_count,
    min(CASE WHEN inside THEN op_seq END) AS op_seq,
    bool_or(recorded) AS recorded,
    count(bytes) AS storages,
    CAST(sum(bytes) AS BIGINT) AS bytes,
    CAST(sum(live_ns) AS BIGINT) AS live_ns,
    sum(CAST(bytes AS DECIMAL(38, 0)) * CAST(live_ns AS DECIMAL(38, 0))) AS byte_ns,
    CAST(sum(retained_bytes) AS BIGINT) AS retained_bytes
  FROM placed
  GROUP BY run_number, tensor_id
),
shared AS (
  -- Outputs of more than one operation: few, and none of them owns a storage.
  SELECT s.run_id, s.output
  FROM (SELECT run_id, output FROM ops WHERE output IS NOT NULL GROUP BY run_id, output HAVING count(*) > 1) AS s
  JOIN tensors AS t ON s.run_id = t.run_id AND s.output = t.tensor_id
  WHERE t.category = 'activation'
  GROUP BY s.run_id, s.output
),
producers AS (
  SELECT run_number, op_seq, recorded, storages > 0 AS owns, storages, bytes, live_ns, byte_ns, retained_bytes
  FROM made
  WHERE op_count = 1 AND op_seq IS NOT NULL AND (recorded OR storages > 0)
  UNION ALL
  SELECT s.run_number, o.seq, true, false, NULL, NULL, NULL, NULL, NULL
  FROM shared AS h
  JOIN ops AS o ON h.run_id = o.run_id AND h.output = o.output
  JOIN scopes AS s ON o.run_id = s.run_id AND o.span_id = s.span_id
  WHERE s.inside
),
numbered AS (
  -- An outer join, so that the engine expects as many rows as there are operations and holds the producers instead.
  SELECT r.run_number, o.*
  FROM regions AS r
  RIGHT JOIN ops AS o ON r.run_id = o.run_id
)
SELECT
  o.run_id,
  o.seq,
  o.span_id,
  o.op_index,
  o.name,
  o.output AS output_tensor_id,
  o.shape,
  o.dtype,
  o.device,
  o.timestamp_ns AS start_ns,
  o.duration_ns AS observed_host_duration_ns,
  o.output_dense_bytes AS dense_output_bytes,
  CASE
    WHEN p.recorded AND p.owns THEN ['tensor_output', 'logical_storage']
    WHEN p.recorded THEN ['tensor_output']
    ELSE ['logical_storage']
  END AS classification_sources,
  CASE WHEN p.owns THEN p.storages END AS logical_storage_count,
  CASE WHEN p.owns THEN p.bytes END AS logical_allocated_bytes,
  CASE WHEN p.owns THEN p.live_ns END AS logical_storage_live_duration_ns,
  CASE WHEN p.owns THEN p.byte_ns END AS logical_byte_nanoseconds,
  CASE WHEN p.owns THEN p.retained_bytes END AS logical_retained_bytes_at_measured_end
FROM producers AS p
JOIN numbered AS o ON p.run_number = o.run_number AND p.op_seq = o.seq
