-- storages: Each storage with its life, as storage_lifetimes has it, and every tensor known to share it.
-- Row: one storage that was allocated; a tensor recorded with a storage that never was adds no row. The rules for
-- events that pair wrongly are those of storage_lifetimes.
-- Columns:
--   run_id (Utf8, id): the run
--   device (Utf8, none): device
--   storage_id (Utf8, id): storage
--   alloc_seq (Int64, count): place of the allocation in the order of recording
--   span_id (Int64, id): span it was allocated in
--   op_name (Utf8, none): operation it was allocated by; NULL: not given
--   bytes (Int64, bytes): size
--   shape (List<Int64>, count): shape of the tensor it was allocated for
--   dtype (Utf8, none): element type of that tensor
--   category (Utf8, none): parameter, activation, gradient, optimizer or other
--   tensor_ids (List<Utf8>, id): tensors that memory events and tensor records saw on it, each once, sorted
--   start_ns (Int64, ns (session clock)): when it was allocated
--   end_seq (Int64, count): place of its end in the order of recording; NULL: never seen
--   end_ns (Int64, ns (session clock)): when it ended; NULL: never seen
--   ending (Utf8, none): freed, end_unobserved (inferred when its address was used again) or retained
-- Reads: memory, tensors
WITH seen AS (
  -- Grouped together: to join two lists of every storage would hold one of them in memory.
  SELECT
    run_id,
    device,
    storage_id,
    tensor_id,
    action,
    seq,
    timestamp_ns,
    span_id,
    op_name,
    bytes,
    shape,
    dtype,
    category
  FROM memory
  UNION ALL
  SELECT
    run_id,
    device,
    storage_id,
    tensor_id,
    'tensor' AS action,
    seq,
    NULL AS timestamp_ns,
    span_id,
    NULL AS op_name,
    NULL AS bytes,
    shape,
    dtype,
    category
  FROM tensors
  WHERE storage_id IS NOT NULL
),
identities AS (
  SELECT
    run_id,
    device,
    storage_id,
    min(CASE WHEN action = 'alloc' THEN seq END) AS alloc_seq,
    min(CASE WHEN action = 'alloc' THEN span_id END) AS span_id,
    min(CASE WHEN action = 'alloc' THEN op_name END) AS op_name,
    min(CASE WHEN action = 'alloc' THEN bytes END) AS bytes,
    array_sort(array_agg(shape) FILTER (WHERE action = 'alloc')) AS shapes,
    min(CASE WHEN action = 'alloc' THEN dtype END) AS dtype,
    min(CASE WHEN action = 'alloc' THEN category END) AS category,
    -- Distinct after the grouping: array_agg(DISTINCT ..) takes ten times as long over a million groups.
    array_sort(array_distinct(array_agg(tensor_id))) AS tensor_ids,
    min(CASE WHEN action = 'alloc' THEN timestamp_ns END) AS start_ns,
    max(CASE WHEN action IN ('free', 'end_unobserved') THEN seq END) AS end_seq,
    max(CASE WHEN action IN ('free', 'end_unobserved') THEN timestamp_ns END) AS end_ns,
    max(CASE WHEN action IN ('free', 'end_unobserved') THEN action END) AS end_action
  FROM seen
  GROUP BY run_id, device, storage_id
),
lives AS (
  SELECT
    *,
    end_ns > start_ns OR (end_ns = start_ns AND end_seq > alloc_seq) AS ended
  FROM identities
  WHERE alloc_seq IS NOT NULL
)
SELECT
  run_id,
  device,
  storage_id,
  alloc_seq,
  span_id,
  op_name,
  bytes,
  shapes[1] AS shape,
  dtype,
  category,
  tensor_ids,
  start_ns,
  CASE WHEN ended THEN end_seq END AS end_seq,
  CASE WHEN ended THEN end_ns END AS end_ns,
  CASE
    WHEN ended AND end_action = 'end_unobserved' THEN 'end_unobserved'
    WHEN ended THEN 'freed'
    ELSE 'retained'
  END AS ending
FROM lives
