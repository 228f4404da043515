-- label_attribution: Whether GPU work is attributed to each label of the program exactly, and what the projection says.
-- Row: one label that at least one NVTX range carries, of a run with which Nsight reports were supplied.
-- Columns:
--   run_id (Utf8, id): the run
--   label_number (Int64, id): the label as a number, as in nvtx_ranges
--   label (Utf8, none): the label
--   attribution (Utf8, none): exact: in each of its ranges as many calls were joined as Nsight Systems counts; correlated:
--     joined, and no projection was read that could confirm it; projected_only: not joined, or not with that count
--   attribution_reason (Utf8, none): why it is not exact
--   all_ranges (Int64, count): its ranges, with and without GPU work
--   projected_ranges (Int64, count): those that the projection has
--   working_ranges (Int64, count): those that caused GPU work, by the projection or by correlation id
--   projected_start_ns (Int64, ns (nsight clock)): start of the first GPU operation, by the projection
--   projected_duration_ns (Int64, ns): sum over its ranges of the time from the first to the last GPU operation of each
--   projected_operations (Int64, count): sum over its ranges of the calls that Nsight Systems counts in each
-- Reads: gpu_sources, nvtx_ranges, range_calls
WITH ranged AS (
  SELECT
    r.run_id,
    r.label,
    r.label_number,
    count(*) AS all_ranges,
    count(r.projected_start_ns) AS projected_ranges,
    count(CASE WHEN r.projected_start_ns IS NOT NULL OR c.calls > 0 THEN 1 END) AS working_ranges,
    min(r.projected_start_ns) AS projected_start_ns,
    CAST(sum(r.projected_duration_ns) AS BIGINT) AS projected_duration_ns,
    CAST(sum(r.gpu_operations) AS BIGINT) AS projected_operations,
    CAST(sum(coalesce(c.calls, 0)) AS BIGINT) AS joined,
    -- Nsight Systems counts calls; a version that counts operations is believed too.
    count(CASE WHEN coalesce(r.gpu_operations, 0) NOT IN (coalesce(c.calls, 0), coalesce(c.operations, 0)) THEN 1 END)
      AS differing
  FROM range_calls AS c
  RIGHT JOIN nvtx_ranges AS r ON c.range_number = r.range_number
  WHERE r.is_program
  GROUP BY r.run_id, r.label, r.label_number
)
SELECT
  r.run_id,
  r.label_number,
  r.label,
  CASE
    WHEN NOT s.is_joined THEN 'projected_only'
    WHEN NOT s.has_projection THEN 'correlated'
    WHEN r.differing > 0 THEN 'projected_only'
    ELSE 'exact'
  END AS attribution,
  CASE
    WHEN NOT s.has_timeline AND NOT s.has_calls THEN 'neither cuda_gpu_trace nor cuda_api_trace was read'
    WHEN NOT s.has_timeline THEN 'cuda_gpu_trace was not read'
    WHEN NOT s.has_calls THEN 'cuda_api_trace was not read'
    WHEN NOT s.has_projection THEN 'no nvtx_gpu_proj_trace was read that could confirm the count'
    WHEN r.differing > 0 THEN concat(
      'Nsight Systems counts ', CAST(coalesce(r.projected_operations, 0) AS VARCHAR), ' calls in its ranges, ',
      CAST(r.joined AS VARCHAR), ' were joined by correlation id; ranges that differ: ',
      CAST(r.differing AS VARCHAR)
    )
  END AS attribution_reason,
  r.all_ranges,
  r.projected_ranges,
  r.working_ranges,
  r.projected_start_ns,
  r.projected_duration_ns,
  r.projected_operations
FROM gpu_sources AS s
JOIN ranged AS r ON s.run_id = r.run_id
