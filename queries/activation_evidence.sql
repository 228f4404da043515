-- activation_evidence: How many tensors and storages the program called activations.
-- Row: always one.
-- Columns:
--   tensors (Int64, count): tensor records of category activation
--   storages (Int64, count): allocations of category activation
-- Reads: memory, tensors
SELECT
  (SELECT count(*) FROM tensors WHERE category = 'activation') AS tensors,
  (SELECT count(*) FROM memory WHERE category = 'activation' AND action = 'alloc') AS storages
ORDER BY tensors
