-- peak_composition: What the simultaneous peak of logical memory was made of, by device, category, span and op.
-- Row: one value of one dimension among the storages live at the peak; the rows of each dimension sum to the peak. The
-- span is the one a storage was allocated in, the op the one it was allocated by: value NULL are the storages that
-- named no op.
-- Columns:
--   dimension (Utf8, none): device, category, span or op, in that order
--   value (Utf8, none): device, category, span id or operation; NULL: no operation was named
--   label (Utf8, none): label of the span; NULL in the other dimensions and where the span was not recorded
--   bytes (Int64, bytes): live bytes of it at the peak
--   storages (Int64, count): storages of it live at the peak
--   share (Float64, none): part of the bytes live at the peak, 0 to 1; NULL when those are 0
-- Reads: peak_storages, spans
WITH dimensions AS (
  SELECT 1 AS rank, 'device' AS dimension
  UNION ALL
  SELECT 2 AS rank, 'category' AS dimension
  UNION ALL
  SELECT 3 AS rank, 'span' AS dimension
  UNION ALL
  SELECT 4 AS rank, 'op' AS dimension
),
-- Each storage once a dimension: four queries would each derive the peak again.
counted AS (
  SELECT
    p.run_id,
    d.rank,
    d.dimension,
    CASE WHEN d.rank = 3 THEN p.span_id END AS span_id,
    CASE d.rank WHEN 1 THEN p.device WHEN 2 THEN p.category WHEN 4 THEN p.op_name END AS text,
    CAST(sum(p.bytes) AS BIGINT) AS bytes,
    count(*) AS storages
  FROM dimensions AS d
  CROSS JOIN peak_storages AS p
  GROUP BY
    p.run_id,
    d.rank,
    d.dimension,
    CASE WHEN d.rank = 3 THEN p.span_id END,
    CASE d.rank WHEN 1 THEN p.device WHEN 2 THEN p.category WHEN 4 THEN p.op_name END
)
SELECT
  c.dimension,
  CASE WHEN c.rank = 3 THEN concat('s', c.span_id) ELSE c.text END AS value,
  s.name AS label,
  c.bytes,
  c.storages,
  CAST(c.bytes AS DOUBLE) / NULLIF(CAST(sum(c.bytes) OVER (PARTITION BY c.run_id, c.rank) AS DOUBLE), 0) AS share
FROM counted AS c
LEFT JOIN spans AS s ON c.run_id = s.run_id AND c.span_id = s.span_id
ORDER BY c.rank, c.bytes DESC NULLS LAST, c.span_id, c.text, c.run_id
