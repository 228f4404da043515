-- timeline_ops: Every operation as a timeline draws it: by thread, in order of time.
-- Row: one operation. Operations of a thread that was not recorded come last. Times are host times as the program
-- measured them: launch time for an asynchronous device.
-- Columns:
--   thread_id (Int64, id): thread that recorded it; NULL where a trace does not say
--   start_ns (Int64, ns (session clock)): when it started
--   duration_ns (Int64, ns): host time
--   seq (Int64, id): its place in the order of recording
--   span_id (Utf8, id): the span it ran in
--   op_index (Int64, id): its position within the span
--   name (Utf8, none): operation
--   shape (List<Int64>, count): shape of the output
--   dtype (Utf8, none): element type of the output
--   device (Utf8, none): device of the output
--   cpu_ns (Int64, ns): CPU time of its thread; NULL where not measured
--   output_dense_bytes (Int64, bytes): footprint of the output, no allocation; NULL: not given
--   input_dense_bytes (Int64, bytes): footprints of the inputs together
-- Reads: ops
SELECT
  thread_id,
  timestamp_ns AS start_ns,
  duration_ns,
  seq,
  concat('s', span_id) AS span_id,
  op_index,
  name,
  shape,
  dtype,
  device,
  cpu_ns,
  output_dense_bytes,
  input_dense_bytes
FROM ops
ORDER BY thread_id NULLS LAST, start_ns, run_id, seq
