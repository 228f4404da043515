-- label_operations: GPU operations, each once under every label of the program whose ranges enclose its call.
-- Row: one operation and one label, however many of the label's ranges enclose the call. The operation is the call's by
-- correlation id; when it ran plays no part. Operations of ambiguous ids are under no label.
-- Columns:
--   run_id (Utf8, id): the run
--   label_number (Int64, id): the label as a number, as in nvtx_ranges
--   label (Utf8, none): the label
--   operation_row (Int64, id): row of the operation in gpu_trace
--   is_first (Boolean, none): whether it is the first operation of its call
--   call_ns (Int64, ns): how long the host was in the call
--   start_ns (Int64, ns (nsight clock)): when the operation began on the device
--   duration_ns (Int64, ns): how long it ran
--   kind (Utf8, none): kernel, memcpy, memset, graph or other
--   kind_number (Int64, none): the kind as a number: 1 kernel, 2 graph, 3 memcpy, 4 memset and other
--   direction (Utf8, none): which way a copy went
--   name (Utf8, none): kernel or operation
--   device_number (Int64, id): the GPU as a number, as in gpu_devices
--   bytes (Int64, bytes): bytes moved or set, rounded as bytes_step says
--   bytes_step (Int64, bytes): what the last printed digit of bytes stands for
-- Reads: gpu_call_places, gpu_devices, gpu_trace, label_covers
SELECT
  o.run_id,
  c.label_number,
  c.label,
  o.operation_row,
  o.operation_row = o.first_operation_row AS is_first,
  o.call_ns,
  o.start_ns,
  o.duration_ns,
  o.kind,
  o.kind_number,
  o.direction,
  o.name,
  o.device_number,
  o.bytes,
  o.bytes_step
FROM label_covers AS c
JOIN (
  SELECT
    g.run_id,
    g.row AS operation_row,
    g.start_ns,
    g.duration_ns,
    g.kind,
    CAST(CASE g.kind WHEN 'kernel' THEN 1 WHEN 'graph' THEN 2 WHEN 'memcpy' THEN 3 ELSE 4 END AS BIGINT) AS kind_number,
    g.direction,
    g.name,
    g.bytes,
    g.bytes_step,
    d.device_number,
    p.anchor_number,
    p.start_ns AS called_ns,
    p.duration_ns AS call_ns,
    p.first_operation_row
  FROM gpu_devices AS d
  JOIN gpu_trace AS g ON d.run_id = g.run_id AND (d.device IS NOT DISTINCT FROM g.device)
  JOIN gpu_call_places AS p ON g.run_id = p.run_id AND g.correlation_id = p.correlation_id
) AS o ON c.anchor_number = o.anchor_number
WHERE o.called_ns < c.end_ns
