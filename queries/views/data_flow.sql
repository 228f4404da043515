-- data_flow: Which tensor flowed into which: recorded data edges, and the inputs and output of each operation.
-- Row: one recorded data edge, or one input of one operation with an output; an input that an operation takes twice (x
-- * x) has one row. The same two tensors may have several rows, each with its own seq. An end that is NULL or empty
-- names no tensor and gives no row. An operation that writes into its input flows from a tensor to itself.
-- Columns:
--   run_id (Utf8, id): the run
--   seq (Int64, id): place of the edge or the operation in the order of recording
--   from_tensor (Utf8, id): tensor it flows from
--   to_tensor (Utf8, id): tensor it flows to
--   source (Utf8, none): edge or op
--   span_id (Int64, id): span of the operation; NULL for an edge
--   op_name (Utf8, none): operation; NULL for an edge
-- Reads: tensor_origins
SELECT
  run_id,
  seq,
  from_tensor,
  to_tensor,
  source,
  span_id,
  op_name
FROM (
  SELECT
    run_id,
    seq,
    unnest(array_distinct(from_tensors)) AS from_tensor,
    tensor_id AS to_tensor,
    source,
    span_id,
    op_name
  FROM tensor_origins
) AS f
WHERE from_tensor <> ''
