-- tensor_origins: What each tensor was made from: recorded data edges, and the inputs of the operation that put it out.
-- Row: one recorded data edge, or one operation with an output. A target that is NULL or empty names no tensor and
-- gives no row. A tensor may have several rows. From a tensor to what it was made from this is the cheap way: the
-- inputs stay in their list until a row is chosen; data_flow has a row for each of them.
-- Columns:
--   run_id (Utf8, id): the run
--   seq (Int64, id): place of the edge or the operation in the order of recording
--   tensor_id (Utf8, id): the tensor
--   from_tensors (List<Utf8>, id): tensors it was made from, in order, as recorded
--   source (Utf8, none): edge or op
--   span_id (Int64, id): span of the operation; NULL for an edge
--   op_name (Utf8, none): operation; NULL for an edge
-- Reads: edges, ops
SELECT
  run_id,
  seq,
  to_tensor AS tensor_id,
  [from_tensor] AS from_tensors,
  'edge' AS source,
  CAST(NULL AS BIGINT) AS span_id,
  CAST(NULL AS VARCHAR) AS op_name
FROM edges
WHERE kind = 'data' AND to_tensor <> ''
UNION ALL
SELECT
  run_id,
  seq,
  output AS tensor_id,
  inputs AS from_tensors,
  'op' AS source,
  span_id,
  name AS op_name
FROM ops
WHERE output <> ''
