-- heaviest_ops: Executed operations by the logical memory they allocated, most first.
-- Row: one operation. Its storages are those allocated for its output tensor; of several operations with one output,
-- for the first recorded. The storages of a tensor that no operation put out go to the operation their op_name names
-- in the span they were allocated in, where all of them name the same and it names one. No storage counts twice.
-- Columns:
--   id (Utf8, id): span and position of the operation within it
--   name (Utf8, none): operation
--   kind (Utf8, none): op
--   parent_id (Utf8, id): span it ran in
--   shape (List<Int64>, count): output shape
--   dtype (Utf8, none): output element type
--   device (Utf8, none): device
--   dense_bytes (Int64, bytes): the output's footprint; NULL: not given
--   allocated_bytes (Int64, bytes): sum of its storages; NULL: none was recorded
--   host_total_time_ns (Int64, ns): host time
--   host_self_time_ns (Int64, ns): host time; an operation has no parts
--   start_ns (Int64, ns (session clock)): when it started
-- Reads: memory, ops, run
WITH runs AS (
  -- A number for each run: keys below then are short.
  SELECT run_id, row_number() OVER (ORDER BY run_id) AS run_number FROM run
),
tensors_made AS (
  -- Grouped together: to join all operations with all allocations would hold one of them in memory.
  SELECT
    run_number,
    min(op_seq) AS op_seq,
    sum(bytes) AS bytes,
    CASE WHEN min(span_id) = max(span_id) THEN min(span_id) END AS span_id,
    CASE WHEN count(op_name) = count(bytes) AND min(op_name) = max(op_name) THEN min(op_name) END AS op_name
  FROM (
    SELECT r.run_number, m.tensor_id, m.bytes, m.span_id, m.op_name, CAST(NULL AS BIGINT) AS op_seq
    FROM runs AS r
    JOIN memory AS m ON r.run_id = m.run_id
    WHERE m.action = 'alloc'
    UNION ALL
    SELECT r.run_number, o.output AS tensor_id, NULL AS bytes, NULL AS span_id, NULL AS op_name, o.seq AS op_seq
    FROM runs AS r
    JOIN ops AS o ON r.run_id = o.run_id
    WHERE o.output IS NOT NULL
  ) AS either
  GROUP BY run_number, tensor_id
  HAVING count(bytes) > 0
),
named AS (
  -- The one operation of a name in a span, where an allocation asks for it.
  SELECT a.run_number, a.span_id, a.op_name, min(o.seq) AS named_seq
  FROM (
    SELECT DISTINCT r.run_number, m.run_id, m.span_id, m.op_name
    FROM runs AS r
    JOIN memory AS m ON r.run_id = m.run_id
    WHERE m.action = 'alloc' AND m.op_name IS NOT NULL
  ) AS a
  JOIN ops AS o ON a.run_id = o.run_id AND a.span_id = o.span_id AND a.op_name = o.name
  GROUP BY a.run_number, a.span_id, a.op_name
  HAVING count(*) = 1
),
attributed AS (
  SELECT m.run_number, coalesce(m.op_seq, n.named_seq) AS owner_seq, m.bytes
  FROM named AS n
  RIGHT JOIN tensors_made AS m ON n.run_number = m.run_number AND n.span_id = m.span_id AND n.op_name = m.op_name
),
owned AS (
  SELECT run_number, owner_seq, CAST(sum(bytes) AS BIGINT) AS allocated_bytes
  FROM attributed
  WHERE owner_seq IS NOT NULL
  GROUP BY run_number, owner_seq
)
SELECT
  concat('s', o.span_id, '/op/', o.op_index) AS id,
  o.name,
  'op' AS kind,
  concat('s', o.span_id) AS parent_id,
  o.shape,
  o.dtype,
  o.device,
  o.output_dense_bytes AS dense_bytes,
  w.allocated_bytes,
  o.duration_ns AS host_total_time_ns,
  o.duration_ns AS host_self_time_ns,
  o.timestamp_ns AS start_ns
FROM (
  SELECT r.run_id, w.owner_seq, w.allocated_bytes FROM runs AS r JOIN owned AS w ON r.run_number = w.run_number
) AS w
RIGHT JOIN ops AS o ON w.run_id = o.run_id AND w.owner_seq = o.seq
ORDER BY w.allocated_bytes DESC NULLS LAST, o.timestamp_ns, o.run_id, o.span_id, o.op_index
