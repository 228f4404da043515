-- storage_lifetimes: The life of each storage, from its allocation to its end.
-- Row: one storage: an identity lives once. One that is never freed has no end and is retained; one whose end was
-- recorded before its beginning (a health error) has no end either. Of an identity that was allocated twice without an
-- end between (a health error) there is one row, from the first allocation to the last end, with the smallest value of
-- each column.
-- Columns:
--   run_id (Utf8, id): the run
--   device (Utf8, none): device
--   storage_id (Utf8, id): storage
--   alloc_seq (Int64, count): place of the allocation in the order of recording
--   tensor_id (Utf8, id): tensor it was allocated for
--   span_id (Int64, id): span it was allocated in
--   op_name (Utf8, none): operation it was allocated by; NULL: not given
--   bytes (Int64, bytes): size
--   shape (List<Int64>, count): shape of the tensor
--   dtype (Utf8, none): element type of the tensor
--   category (Utf8, none): parameter, activation, gradient, optimizer or other
--   start_ns (Int64, ns (session clock)): when it was allocated
--   end_seq (Int64, count): place of its end in the order of recording; NULL: never seen
--   end_ns (Int64, ns (session clock)): when it ended; NULL: never seen
--   ending (Utf8, none): freed, end_unobserved (inferred when its address was used again) or retained
-- Reads: memory
WITH identities AS (
  SELECT
    run_id,
    device,
    storage_id,
    min(CASE WHEN action = 'alloc' THEN seq END) AS alloc_seq,
    min(CASE WHEN action = 'alloc' THEN tensor_id END) AS tensor_id,
    min(CASE WHEN action = 'alloc' THEN span_id END) AS span_id,
    min(CASE WHEN action = 'alloc' THEN op_name END) AS op_name,
    min(CASE WHEN action = 'alloc' THEN bytes END) AS bytes,
    array_sort(array_agg(shape) FILTER (WHERE action = 'alloc')) AS shapes,
    min(CASE WHEN action = 'alloc' THEN dtype END) AS dtype,
    min(CASE WHEN action = 'alloc' THEN category END) AS category,
    min(CASE WHEN action = 'alloc' THEN timestamp_ns END) AS start_ns,
    max(CASE WHEN action <> 'alloc' THEN seq END) AS end_seq,
    max(CASE WHEN action <> 'alloc' THEN timestamp_ns END) AS end_ns,
    max(CASE WHEN action <> 'alloc' THEN action END) AS end_action
  FROM memory
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
  tensor_id,
  span_id,
  op_name,
  bytes,
  shapes[1] AS shape,
  dtype,
  category,
  start_ns,
  CASE WHEN ended THEN end_seq END AS end_seq,
  CASE WHEN ended THEN end_ns END AS end_ns,
  CASE
    WHEN ended AND end_action = 'end_unobserved' THEN 'end_unobserved'
    WHEN ended THEN 'freed'
    ELSE 'retained'
  END AS ending
FROM lives
