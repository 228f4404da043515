-- gradient_families: Each family of the gradient contract: what it promises, what was recorded, whether it holds.
-- Row: one family of a contract, over all roots, and one row a root for recorded parameters that no contract names. A
-- parameter recorded twice counts once, in its last state. A family is violated by what the health check calls an
-- error: a member non_finite, fewer present than promised, one present in an inactive family, a member not recorded or
-- recorded twice; so is the contract by a parameter that its manifest does not name. A contract with a fault (a health
-- error) is taken as it states itself: one row a rule; a family without a rule promises nothing and has a NULL state.
-- Columns:
--   family (Utf8, none): family; NULL: parameters that no contract names
--   root (Utf8, none): their collection; NULL for a family, whose members may be of several
--   expectation (Utf8, none): active, inactive or data_conditional; NULL: no contract
--   min_present (Int64, count): members that must be present (data_conditional: if any is); NULL: no contract
--   members (Int64, count): parameters in the manifest, or recorded where no contract names them
--   present (Int64, count): members with a finite norm > 0
--   zero (Int64, count): members with norm 0
--   missing (Int64, count): members without a gradient
--   non_finite (Int64, count): members with a norm that is not finite
--   unrecorded (Int64, count): members of which nothing was recorded
--   norm_min (Float64, tensor value): smallest norm of the present; NULL: none
--   norm_max (Float64, tensor value): largest norm of the present; NULL: none
--   norm_l2 (Float64, tensor value): L2 norm of the present together, exact to the last few bits; NULL: none
--   state (Utf8, none): holds or violated; NULL: nothing was promised
--   reason (Utf8, none): why it is violated; NULL: it is not
-- Reads: gradient_expectations, gradients
WITH recorded AS (
  SELECT g.run_id, g.root, g.key, g.state, g.norm, l.events
  FROM (
    SELECT run_id, root, key, max(seq) AS seq, count(*) AS events FROM gradients GROUP BY run_id, root, key
  ) AS l
  JOIN gradients AS g ON l.run_id = g.run_id AND l.seq = g.seq
),
members AS (
  SELECT
    e.run_id,
    e.family,
    CAST(NULL AS VARCHAR) AS root,
    e.key,
    e.expectation,
    e.min_present,
    true AS is_promised,
    CASE WHEN e.key IS NOT NULL AND r.key IS NULL THEN 'unrecorded' ELSE r.state END AS state,
    CASE WHEN r.state = 'present' THEN r.norm END AS norm,
    r.events
  FROM gradient_expectations AS e
  LEFT JOIN recorded AS r ON e.run_id = r.run_id AND e.root = r.root AND e.key = r.key
  UNION ALL
  SELECT
    r.run_id,
    CAST(NULL AS VARCHAR) AS family,
    r.root,
    r.key,
    CAST(NULL AS VARCHAR) AS expectation,
    CAST(NULL AS BIGINT) AS min_present,
    c.run_id IS NOT NULL AS is_promised,
    r.state,
    CASE WHEN r.state = 'present' THEN r.norm END AS norm,
    r.events
  FROM recorded AS r
  LEFT JOIN (SELECT DISTINCT run_id FROM gradient_expectations) AS c ON r.run_id = c.run_id
  LEFT JOIN gradient_expectations AS e ON r.run_id = e.run_id AND r.root = e.root AND r.key = e.key
  WHERE e.run_id IS NULL
),
scaled AS (
  -- Squares of norms near the ends of a Float64 leave its range: each norm is taken relative to its family's largest.
  SELECT
    *,
    norm / NULLIF(max(norm) OVER (PARTITION BY run_id, family, root, expectation, min_present), 0) AS share
  FROM members
),
families AS (
  SELECT
    run_id,
    family,
    root,
    expectation,
    min_present,
    is_promised,
    count(key) AS members,
    count(CASE WHEN state = 'present' THEN 1 END) AS present,
    count(CASE WHEN state = 'zero' THEN 1 END) AS zero,
    count(CASE WHEN state = 'missing' THEN 1 END) AS missing,
    count(CASE WHEN state = 'non_finite' THEN 1 END) AS non_finite,
    count(CASE WHEN state = 'unrecorded' THEN 1 END) AS unrecorded,
    count(CASE WHEN events > 1 THEN 1 END) AS repeated,
    min(norm) AS norm_min,
    max(norm) AS norm_max,
    max(norm) * sqrt(sum(share * share)) AS norm_l2
  FROM scaled
  GROUP BY run_id, family, root, expectation, min_present, is_promised
),
judged AS (
  SELECT
    *,
    concat_ws(
      '; ',
      CASE WHEN family IS NULL THEN concat(members, ' not in the manifest') END,
      CASE WHEN non_finite > 0 THEN concat(non_finite, ' non_finite') END,
      CASE WHEN (expectation = 'active' OR (expectation = 'data_conditional' AND present > 0)) AND present < min_present
        THEN concat('present ', present, ' of at least ', min_present)
      END,
      CASE WHEN expectation = 'inactive' AND present > 0 THEN concat('inactive family has ', present, ' present') END,
      CASE WHEN unrecorded > 0 THEN concat(unrecorded, ' unrecorded') END,
      CASE WHEN repeated > 0 THEN concat(repeated, ' recorded more than once') END
    ) AS faults
  FROM families
)
SELECT
  family,
  root,
  expectation,
  min_present,
  members,
  present,
  zero,
  missing,
  non_finite,
  unrecorded,
  norm_min,
  norm_max,
  norm_l2,
  CASE
    WHEN NOT is_promised OR (family IS NOT NULL AND expectation IS NULL) THEN NULL
    WHEN faults = '' THEN 'holds'
    ELSE 'violated'
  END AS state,
  CASE
    WHEN NOT is_promised THEN NULL
    WHEN family IS NOT NULL AND expectation IS NULL THEN 'no rule'
    ELSE NULLIF(faults, '')
  END AS reason
FROM judged
ORDER BY run_id, family NULLS LAST, root NULLS LAST, expectation NULLS LAST, min_present NULLS LAST
