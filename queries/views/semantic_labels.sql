-- semantic_labels: The labels of each run's contract, and where their work is expected.
-- Row: one label that the contract names in any of its lists.
-- Columns:
--   run_id (Utf8, id): the run
--   label (Utf8, none): the label
--   role (Utf8, none): gpu_expected, cpu_only, or none; a contract that tells neither expects every required label on a
--     GPU, and a label in both lists (a fault of the contract) is expected there
-- Reads: run
WITH contracts AS (
  SELECT
    run_id,
    contract['required_semantic_labels'] AS required,
    contract['gpu_expected_semantic_labels'] AS gpu_expected,
    contract['cpu_only_semantic_labels'] AS cpu_only
  FROM run
),
listed AS (
  SELECT
    *,
    unnest(array_concat(array_concat(required, gpu_expected), cpu_only)) AS label
  FROM contracts
)
SELECT DISTINCT
  run_id,
  label,
  CASE
    WHEN array_has(gpu_expected, label) THEN 'gpu_expected'
    WHEN array_has(cpu_only, label) THEN 'cpu_only'
    WHEN coalesce(array_length(gpu_expected), 0) + coalesce(array_length(cpu_only), 0) = 0 THEN 'gpu_expected'
    ELSE 'none'
  END AS role
FROM listed
