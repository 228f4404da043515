-- gpu_phases: What each label of the program did on the GPU.
-- Row: one label with at least one range that caused GPU work, by the projection or by correlation id. A GPU operation is
-- the label's if its API call began in a range with the label on the same thread, as correlation ids tell; when it ran
-- plays no part, and work inside nested labels is each label's. Times are of Nsight's clock and comparable with no other.
-- Parameters:
--   label (Utf8): only this label; NULL: all
--   label_prefix (Utf8): only labels that begin so; NULL: all
-- Columns:
--   label (Utf8, none): the label
--   role (Utf8, none): gpu_expected, cpu_only, or none where the contract does not say
--   attribution (Utf8, none): exact: in each of its ranges as many calls were joined as Nsight Systems counts; correlated:
--     joined, and no projection was read that could confirm it; projected_only: not joined, or not with that count, and
--     what rests on the join is NULL
--   attribution_reason (Utf8, none): why it is not exact
--   ranges (Int64, count): its ranges that caused GPU work
--   projected_start_ns (Int64, ns (nsight clock)): start of the first GPU operation, by the projection
--   projected_duration_ns (Int64, ns): sum over its ranges of the time from the first to the last GPU operation of each
--   gpu_busy_ns (Int64, ns): time in which at least one of its operations ran, streams counted once, added up over GPUs
--   gpu_operations (Int64, count): GPU operations, each once
--   gpu_calls (Int64, count): API calls that caused them
--   projected_operations (Int64, count): sum over its ranges of the calls that Nsight Systems counts in each
--   kernels (Int64, count): operations that are kernels
--   kernel_ns (Int64, ns): sum of their durations
--   graphs (Int64, count): operations that are a whole CUDA graph as one row: what ran in them is not shown
--   copies (Int64, count): operations that are copies
--   copy_ns (Int64, ns): sum of their durations
--   exposed_copy_ns (Int64, ns): time in which at least one of its copies and none of its kernels and graphs ran on a GPU
--   launch_ns (Int64, ns): host time in the API calls that caused its operations
--   busy_share (Float64, none): gpu_busy_ns of projected_duration_ns; above 1 where several GPUs worked at once
-- Reads: label_attribution, label_operations, semantic_labels
WITH swept AS (
  SELECT
    label_number,
    first_call_ns,
    kind_number,
    start_ns,
    end_ns,
    coalesce(max(end_ns) OVER earlier, start_ns) AS busy_until_ns,
    coalesce(max(CASE WHEN kind_number <= 2 THEN end_ns END) OVER earlier, start_ns) AS kernel_until_ns,
    coalesce(max(CASE WHEN kind_number <= 3 THEN end_ns END) OVER earlier, start_ns) AS either_until_ns
  FROM (
    -- As few and as narrow columns as can be: every operation is sorted once for each label around it.
    SELECT
      label_number,
      device_number,
      CASE WHEN is_first THEN call_ns END AS first_call_ns,
      CAST(kind_number AS SMALLINT) AS kind_number,
      start_ns,
      start_ns + duration_ns AS end_ns
    FROM label_operations
  ) AS o
  WINDOW earlier AS (
    PARTITION BY label_number, device_number ORDER BY start_ns ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
  )
),
worked AS (
  -- What an operation adds to a union is the part of it that reaches beyond the latest end before it.
  SELECT
    label_number,
    count(*) AS gpu_operations,
    count(first_call_ns) AS gpu_calls,
    CAST(sum(first_call_ns) AS BIGINT) AS launch_ns,
    count(CASE WHEN kind_number = 1 THEN 1 END) AS kernels,
    CAST(sum(CASE WHEN kind_number = 1 THEN end_ns - start_ns ELSE 0 END) AS BIGINT) AS kernel_ns,
    count(CASE WHEN kind_number = 2 THEN 1 END) AS graphs,
    count(CASE WHEN kind_number = 3 THEN 1 END) AS copies,
    CAST(sum(CASE WHEN kind_number = 3 THEN end_ns - start_ns ELSE 0 END) AS BIGINT) AS copy_ns,
    CAST(sum(
      CASE WHEN end_ns > busy_until_ns THEN end_ns - greatest(start_ns, busy_until_ns) ELSE 0 END
    ) AS BIGINT) AS busy_ns,
    CAST(sum(
      CASE WHEN kind_number <= 2 AND end_ns > kernel_until_ns THEN end_ns - greatest(start_ns, kernel_until_ns) ELSE 0 END
    ) AS BIGINT) AS kernel_busy_ns,
    CAST(sum(
      CASE WHEN kind_number <= 3 AND end_ns > either_until_ns THEN end_ns - greatest(start_ns, either_until_ns) ELSE 0 END
    ) AS BIGINT) AS either_busy_ns
  FROM swept
  GROUP BY label_number
),
joined AS (
  SELECT
    j.run_id,
    j.label,
    j.attribution,
    j.attribution_reason,
    j.working_ranges AS ranges,
    j.projected_start_ns,
    j.projected_duration_ns,
    j.projected_operations,
    w.busy_ns AS gpu_busy_ns,
    w.gpu_operations,
    w.gpu_calls,
    w.kernels,
    w.kernel_ns,
    w.graphs,
    w.copies,
    w.copy_ns,
    w.either_busy_ns - w.kernel_busy_ns AS exposed_copy_ns,
    w.launch_ns
  FROM label_attribution AS j
  LEFT JOIN worked AS w ON j.label_number = w.label_number AND j.attribution <> 'projected_only'
  WHERE j.working_ranges > 0
)
SELECT
  j.label,
  coalesce(l.role, 'none') AS role,
  j.attribution,
  j.attribution_reason,
  j.ranges,
  j.projected_start_ns,
  j.projected_duration_ns,
  j.gpu_busy_ns,
  j.gpu_operations,
  j.gpu_calls,
  j.projected_operations,
  j.kernels,
  j.kernel_ns,
  j.graphs,
  j.copies,
  j.copy_ns,
  j.exposed_copy_ns,
  j.launch_ns,
  CAST(j.gpu_busy_ns AS DOUBLE) / NULLIF(CAST(j.projected_duration_ns AS DOUBLE), 0) AS busy_share
FROM joined AS j
LEFT JOIN semantic_labels AS l ON j.run_id = l.run_id AND j.label = l.label
WHERE ($label IS NULL OR j.label = $label)
  AND ($label_prefix IS NULL OR starts_with(j.label, $label_prefix))
ORDER BY j.gpu_busy_ns DESC NULLS LAST, j.projected_duration_ns DESC NULLS LAST, j.label, j.run_id
