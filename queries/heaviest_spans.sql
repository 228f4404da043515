-- heaviest_spans: Spans by the logical memory they allocated themselves, most first.
-- Row: one span with an allocation in it or in a span below it; live bytes are those of the whole subtree.
-- Columns:
--   id (Utf8, id): span
--   name (Utf8, none): label
--   allocated_bytes (Int64, bytes): sum of the storages allocated directly in it
--   peak_live_bytes (Int64, bytes): largest sum of storages of its subtree live at once
--   residual_bytes (Int64, bytes): storages of its subtree still live when it closed; NULL: it never closed
--   allocations (Int64, count): storages allocated directly in it
-- Reads: span_memory, spans
SELECT
  concat('s', s.span_id) AS id,
  s.name,
  m.allocated_bytes,
  m.peak_live_bytes,
  m.residual_bytes,
  m.allocations
FROM spans AS s
JOIN span_memory AS m ON s.run_id = m.run_id AND s.span_id = m.span_id
ORDER BY m.allocated_bytes DESC NULLS LAST, m.peak_live_bytes DESC NULLS LAST, s.start_ns, s.run_id, s.span_id
