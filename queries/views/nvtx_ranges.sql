-- nvtx_ranges: One NVTX range: what the host was in, and where its work ran on the GPU.
-- Row: one named push/pop range of nvtx_pushpop_trace, with the figures of the same range in nvtx_gpu_proj; then the
-- ranges that the projection alone has (StartEnd ranges; all of them where no push/pop report was supplied). Ranges of
-- the two reports are the same if process, thread, start, length and label are: range ids differ between reports. Of
-- ranges that are equal in all of that, the outermost of one report is that of the other. A range without a name (a
-- synthetic root) is left out. From 2023 on names of the default domain begin with a colon: where any name of a report
-- does, one without it belongs to a named domain, as a library's does.
-- Columns:
--   run_id (Utf8, id): the run
--   run_number (Int64, id): the run as a number; it depends on the other runs
--   range_number (Int64, id): the range, within everything that is read together; numbers of a thread follow each other
--     by start, and of ranges that begin together by depth
--   label_number (Int64, id): its run and label, within everything that is read together
--   label (Utf8, none): the label it stands for
--   name (Utf8, none): its name, as printed
--   default_domain (Boolean, none): whether it is in the default domain, as far as names tell
--   is_program (Boolean, none): whether it carries a label of the program: one of the default domain, or of the contract
--   style (Utf8, none): PushPop or StartEnd
--   process_id (Int64, id): process
--   thread_id (Int64, id): thread
--   level (Int64, count): depth in its stack of ranges, 0 the outermost; NULL where the report has none
--   start_ns (Int64, ns (nsight clock)): when the host entered it; NULL where the projection does not say
--   end_ns (Int64, ns (nsight clock)): when the host left it
--   projected_start_ns (Int64, ns (nsight clock)): start of its first GPU operation; NULL where no projection has it
--   projected_duration_ns (Int64, ns): from there to the end of its last GPU operation
--   gpu_operations (Int64, count): its API calls that caused GPU work, as Nsight Systems counts them
-- Reads: nvtx_gpu_proj, nvtx_pushpop_trace, run, run_numbers
WITH reported AS (
  SELECT
    run_id,
    1 AS report,
    "row" AS report_row,
    label,
    name,
    'PushPop' AS style,
    process_id,
    thread_id,
    level,
    start_ns,
    duration_ns,
    CAST(NULL AS BIGINT) AS projected_start_ns,
    CAST(NULL AS BIGINT) AS projected_duration_ns,
    CAST(NULL AS BIGINT) AS gpu_operations
  FROM nvtx_pushpop_trace
  WHERE name IS NOT NULL
  UNION ALL
  SELECT
    run_id,
    2 AS report,
    "row" AS report_row,
    label,
    name,
    coalesce(style, 'PushPop') AS style,
    process_id,
    thread_id,
    level,
    start_ns,
    duration_ns,
    projected_start_ns,
    projected_duration_ns,
    gpu_operations
  FROM nvtx_gpu_proj
  WHERE name IS NOT NULL
),
counted AS (
  SELECT
    *,
    -- Its place among those that are equal; a window of its own for each range would take longer.
    row_number() OVER (
      ORDER BY run_id, process_id, thread_id, start_ns, duration_ns, style, label, report, level, report_row
    ) - rank() OVER (
      ORDER BY run_id, process_id, thread_id, start_ns, duration_ns, style, label, report
    ) AS occurrence
  FROM reported
),
merged AS (
  -- Grouped, not joined: a group takes NULL for equal to NULL.
  SELECT
    run_id,
    label,
    max(CASE WHEN report = 1 THEN name END) AS host_name,
    max(CASE WHEN report = 2 THEN name END) AS projected_name,
    style,
    process_id,
    thread_id,
    -- A projection counts StartEnd ranges into the depth, a push/pop report does not.
    coalesce(max(CASE WHEN report = 1 THEN level END), max(level)) AS level,
    start_ns,
    duration_ns,
    occurrence,
    max(projected_start_ns) AS projected_start_ns,
    max(projected_duration_ns) AS projected_duration_ns,
    max(gpu_operations) AS gpu_operations
  FROM counted
  GROUP BY run_id, label, style, process_id, thread_id, start_ns, duration_ns, occurrence
),
marks AS (
  SELECT
    run_id,
    bool_or(report = 1 AND starts_with(name, ':')) AS in_host,
    bool_or(report = 2 AND starts_with(name, ':')) AS in_projected
  FROM reported
  GROUP BY run_id
),
runs AS (
  SELECT
    r.run_id,
    n.run_number,
    r.contract['required_semantic_labels'] AS required,
    r.contract['gpu_expected_semantic_labels'] AS gpu_expected,
    r.contract['cpu_only_semantic_labels'] AS cpu_only,
    m.in_host,
    m.in_projected
  FROM run AS r
  JOIN run_numbers AS n ON r.run_id = n.run_id
  LEFT JOIN marks AS m ON r.run_id = m.run_id
),
told AS (
  SELECT
    m.*,
    r.run_number,
    (m.host_name IS NULL OR NOT r.in_host OR starts_with(m.host_name, ':'))
      AND (m.projected_name IS NULL OR NOT r.in_projected OR starts_with(m.projected_name, ':')) AS default_domain,
    coalesce(array_has(r.required, m.label), FALSE)
      OR coalesce(array_has(r.gpu_expected, m.label), FALSE)
      OR coalesce(array_has(r.cpu_only, m.label), FALSE) AS is_listed
  FROM runs AS r
  JOIN merged AS m ON r.run_id = m.run_id
)
SELECT
  run_id,
  run_number,
  CAST(row_number() OVER (
    ORDER BY run_number, process_id, thread_id, start_ns, coalesce(level, 0), duration_ns, style, label, occurrence
  ) AS BIGINT) AS range_number,
  CAST(dense_rank() OVER (ORDER BY run_number, label) AS BIGINT) AS label_number,
  label,
  coalesce(host_name, projected_name) AS name,
  default_domain,
  default_domain OR is_listed AS is_program,
  style,
  process_id,
  thread_id,
  level,
  start_ns,
  start_ns + duration_ns AS end_ns,
  projected_start_ns,
  projected_duration_ns,
  gpu_operations
FROM told
