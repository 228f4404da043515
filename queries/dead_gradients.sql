-- dead_gradients: Parameters without a gradient to learn from: zero, missing or never recorded; the unexpected first.
-- Row: one parameter whose last recorded gradient is zero or missing, or that a gradient contract names and nothing
-- was recorded of. expected is judged by the rule of its family: an inactive family may have no gradient; a
-- data_conditional one may, while none of its members or at least min_present are present; in an active one every
-- member is expected to have one, though the contract holds while min_present have; what the manifest names must be
-- recorded.
-- Columns:
--   root (Utf8, none): collection of the parameter
--   key (Utf8, none): parameter
--   family (Utf8, none): family in the contract; NULL: no contract names the parameter
--   expectation (Utf8, none): active, inactive or data_conditional; NULL: no rule
--   state (Utf8, none): zero, missing or unrecorded
--   expected (Boolean, none): whether the contract lets it be so; NULL: no rule
-- Reads: gradient_expectations, gradients
WITH recorded AS (
  SELECT g.run_id, g.root, g.key, g.state
  FROM (SELECT run_id, root, key, max(seq) AS seq FROM gradients GROUP BY run_id, root, key) AS l
  JOIN gradients AS g ON l.run_id = g.run_id AND l.seq = g.seq
),
parameters AS (
  SELECT
    coalesce(r.run_id, e.run_id) AS run_id,
    coalesce(r.root, e.root) AS root,
    coalesce(r.key, e.key) AS key,
    e.family,
    e.expectation,
    e.min_present,
    coalesce(r.state, 'unrecorded') AS state
  FROM recorded AS r
  FULL JOIN gradient_expectations AS e ON r.run_id = e.run_id AND r.root = e.root AND r.key = e.key
),
counted AS (
  SELECT
    *,
    count(CASE WHEN state = 'present' THEN 1 END) OVER (
      PARTITION BY run_id, family, expectation, min_present
    ) AS present
  FROM parameters
  WHERE key IS NOT NULL
),
judged AS (
  SELECT
    *,
    CASE
      WHEN expectation IS NULL THEN NULL
      WHEN state = 'unrecorded' OR expectation = 'active' THEN false
      WHEN expectation = 'inactive' THEN true
      ELSE present = 0 OR present >= min_present
    END AS expected
  FROM counted
  WHERE state IN ('zero', 'missing', 'unrecorded')
)
SELECT
  root,
  key,
  family,
  expectation,
  state,
  expected
FROM judged
ORDER BY CASE WHEN NOT expected THEN 1 WHEN expected THEN 3 ELSE 2 END, root, key, run_id, family, expectation
