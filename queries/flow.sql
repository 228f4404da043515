-- flow: Which tensor flowed into which, in order of recording: recorded data edges, and the inputs of each operation.
-- Row: one row of view data_flow.
-- Columns:
--   seq (Int64, id): place of the edge or the operation in the order of recording
--   source (Utf8, none): edge or op
--   span_id (Utf8, id): span of the operation; NULL for an edge
--   op_name (Utf8, none): operation; NULL for an edge
--   from_tensor (Utf8, id): tensor it flows from
--   to_tensor (Utf8, id): tensor it flows to
-- Reads: data_flow
SELECT
  seq,
  source,
  CASE WHEN span_id IS NULL THEN NULL ELSE concat('s', span_id) END AS span_id,
  op_name,
  from_tensor,
  to_tensor
FROM data_flow
ORDER BY run_id, seq, from_tensor, to_tensor
