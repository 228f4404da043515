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
-- Reads: gpu_call_places, gpu_devices, gpu_trace, label_covers, run_numbers
WITH operations AS (
  SELECT
    r.run_number,
    g.run_id,
    g.row AS operation_row,
    g.start_ns,
    g.duration_ns,
    g.correlation_id,
    g.kind,
    CAST(CASE g.kind WHEN 'kernel' THEN 1 WHEN 'graph' THEN 2 WHEN 'memcpy' THEN 3 ELSE 4 END AS BIGINT) AS kind_number,
    g.direction,
    g.name,
    g.bytes,
    g.bytes_step,
    d.device_number
  -- The one run, the few GPUs first: the engine holds the left side of a join and streams the right.
  FROM run_numbers AS r
  JOIN gpu_devices AS d ON r.run_id = d.run_id
  JOIN gpu_trace AS g ON d.run_id = g.run_id AND (d.device IS NOT DISTINCT FROM g.device)
),
placed AS (
  -- Held for all calls at once: whole numbers alone, and no more of them than are needed.
  SELECT run_number, correlation_id, anchor_number, start_ns, duration_ns, first_operation_row
  FROM gpu_call_places
  WHERE anchor_number IS NOT NULL
),
called AS (
  SELECT
    o.run_id,
    o.operation_row,
    o.operation_row = p.first_operation_row AS is_first,
    p.anchor_number,
    p.start_ns AS called_ns,
    p.duration_ns AS call_ns,
    o.start_ns,
    o.duration_ns,
    o.kind,
    o.kind_number,
    o.direction,
    o.name,
    o.device_number,
    o.bytes,
    o.bytes_step
  FROM placed AS p
  JOIN operations AS o ON p.run_number = o.run_number AND p.correlation_id = o.correlation_id
)
SELECT
  o.run_id,
  c.label_number,
  c.label,
  o.operation_row,
  o.is_first,
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
JOIN called AS o ON c.anchor_number = o.anchor_number
WHERE o.called_ns < c.end_ns
