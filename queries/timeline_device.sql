-- timeline_device: Every device interval as a timeline draws it: by device, clock and stream, in order of time.
-- Row: one interval on a device's own clock. Clocks are never aligned with each other or with the session's.
-- Columns:
--   device (Utf8, none): device
--   clock_id (Utf8, id): clock of the times
--   stream_id (Utf8, id): stream or queue
--   start_ns (Int64, ns (device clock)): start
--   duration_ns (Int64, ns): length
--   seq (Int64, id): its place in the order of recording
--   span_id (Utf8, id): span that launched the work
--   span_name (Utf8, none): label of that span; NULL where the span was not recorded
--   backend (Utf8, none): what measured it
-- Reads: device_intervals, spans
SELECT
  d.device,
  d.clock_id,
  d.stream_id,
  d.start_ns,
  d.duration_ns,
  d.seq,
  concat('s', d.span_id) AS span_id,
  s.name AS span_name,
  d.backend
FROM device_intervals AS d
LEFT JOIN spans AS s ON s.run_id = d.run_id AND s.span_id = d.span_id
ORDER BY d.device, d.clock_id, d.stream_id, d.start_ns, d.run_id, d.seq
