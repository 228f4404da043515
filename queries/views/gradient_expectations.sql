-- gradient_expectations: The gradient contract of each run: each parameter of its manifest with its family's rule.
-- Row: one entry of the manifest and the rule of its family. A run without a contract has no rows. A contract with a
-- fault (a health error) keeps what it states: a family without a rule has a NULL expectation, one with two rules has
-- two rows an entry, and a rule without a member has a row without root and key.
-- Columns:
--   run_id (Utf8, id): the run
--   root (Utf8, none): collection of the parameter
--   key (Utf8, none): parameter
--   family (Utf8, none): family
--   expectation (Utf8, none): active, inactive or data_conditional
--   min_present (Int64, count): members that must be present (data_conditional: if any is); 0 for inactive
-- Reads: run
WITH entries AS (
  SELECT run_id, e['root'] AS root, e['key'] AS key, e['family'] AS family
  FROM (SELECT run_id, unnest(contract['gradient_contract']['expected']) AS e FROM run) AS m
),
rules AS (
  SELECT run_id, r['family'] AS family, r['expectation'] AS expectation, r['min_present'] AS min_present
  FROM (SELECT run_id, unnest(contract['gradient_contract']['families']) AS r FROM run) AS m
)
SELECT
  coalesce(e.run_id, r.run_id) AS run_id,
  e.root,
  e.key,
  coalesce(e.family, r.family) AS family,
  r.expectation,
  r.min_present
FROM entries AS e
FULL JOIN rules AS r ON e.run_id = r.run_id AND e.family = r.family
