-- op_work: The floating-point operations and bytes of each operation, where its name and shapes determine them.
-- Row: one operation; one that is not counted says why. The FLOP are those of the arithmetic its name stands for,
-- whatever a backend makes of it: a sum, a product, a comparison and one value of a function (exp, sqrt, gelu, ...) are
-- one each. A name is compared in lower case, `-` as `_`, and `broadcast_` before one changes nothing. matmul, mm, bmm,
-- batch_matmul: 2 x output elements x k, the last dimension of the first input and the last but one of the second; one
-- of them will do, and both must agree. linear, qmatmul: 2 x output elements x k, the last dimension of the first input
-- or the dimension of the weight (second input) that is not the output's last; a bias is not counted. conv1d, conv2d:
-- 2 x output elements x the elements of one filter of the weight (second input; out channels, in channels of a group,
-- kernel). conv_transpose1d, conv_transpose2d: 2 x elements of the first input x the same of its weight (in channels,
-- out channels of a group, kernel). sum, mean, max, min, argmax, argmin, also with _all or _keepdim: 1 for each element
-- of the first input. For each output element: softmax, log_softmax, softmax_last_dim 5 (maximum, subtract, exp, sum,
-- divide); layer_norm, group_norm 7 (sum for the mean, subtract it, square, sum, multiply by the reciprocal deviation,
-- scale, shift); rms_norm 4 (square, sum, multiply by the reciprocal root, scale); rope, rope_i, rope_slow, rotary_emb
-- 3 (two products, their sum); affine 2; arithmetic, comparisons and functions of one value 1; movement (reshape,
-- transpose, copy, cat, select, cast, ...) 0. The shape of an input is the one on which all records of the tensor, and
-- all operations that have it as output, agree; where they do not, it is unknown. Out of range are more than eight
-- dimensions, a kernel of more than two, and a count beyond Int64.
-- Columns:
--   run_id (Utf8, id): the run
--   seq (Int64, id): its place in the order of recording
--   span_id (Int64, id): the span it ran in
--   op_index (Int64, id): its position within the span
--   name (Utf8, none): operation
--   shape (List<Int64>, count): output shape
--   dtype (Utf8, none): output element type
--   device (Utf8, none): device of the output
--   flops (Int64, FLOP): floating-point operations; NULL: not counted
--   bytes_moved (Int64, bytes): dense footprints of the inputs and the output; NULL where the output's is not given
--   duration_ns (Int64, ns): host time: launch time for an asynchronous device
--   holds_work (Boolean, none): whether host time holds the work: on cpu, or in a run synchronized at every span
--   rule (Utf8, none): the rule for its name; NULL: there is none
--   uncounted_reason (Utf8, none): unknown operation, input shapes unknown, shapes disagree or out of range
-- Reads: ops, run, tensors
WITH rules (op, rule, per_element) AS (
  VALUES
    ('matmul', 'matmul', 0), ('mm', 'matmul', 0), ('bmm', 'matmul', 0), ('batch_matmul', 'matmul', 0),
    ('linear', 'linear', 0), ('qmatmul', 'linear', 0),
    ('conv1d', 'convolution', 0), ('conv2d', 'convolution', 0),
    ('conv_transpose1d', 'transposed convolution', 0), ('conv_transpose2d', 'transposed convolution', 0),
    ('sum', 'reduction', 1), ('sum_all', 'reduction', 1), ('sum_keepdim', 'reduction', 1),
    ('mean', 'reduction', 1), ('mean_all', 'reduction', 1), ('mean_keepdim', 'reduction', 1),
    ('max', 'reduction', 1), ('max_all', 'reduction', 1), ('max_keepdim', 'reduction', 1),
    ('min', 'reduction', 1), ('min_all', 'reduction', 1), ('min_keepdim', 'reduction', 1),
    ('argmax', 'reduction', 1), ('argmax_keepdim', 'reduction', 1),
    ('argmin', 'reduction', 1), ('argmin_keepdim', 'reduction', 1),
    ('softmax', 'softmax', 5), ('log_softmax', 'softmax', 5), ('softmax_last_dim', 'softmax', 5),
    ('layer_norm', 'layer norm', 7), ('group_norm', 'layer norm', 7), ('rms_norm', 'rms norm', 4),
    ('rope', 'rotary embedding', 3), ('rope_i', 'rotary embedding', 3), ('rope_slow', 'rotary embedding', 3),
    ('rotary_emb', 'rotary embedding', 3),
    ('affine', 'affine', 2),
    ('add', 'elementwise', 1), ('sub', 'elementwise', 1), ('mul', 'elementwise', 1), ('div', 'elementwise', 1),
    ('maximum', 'elementwise', 1), ('minimum', 'elementwise', 1), ('pow', 'elementwise', 1),
    ('powf', 'elementwise', 1), ('eq', 'elementwise', 1), ('ne', 'elementwise', 1), ('lt', 'elementwise', 1),
    ('le', 'elementwise', 1), ('gt', 'elementwise', 1), ('ge', 'elementwise', 1), ('cmp', 'elementwise', 1),
    ('neg', 'elementwise', 1), ('abs', 'elementwise', 1), ('recip', 'elementwise', 1), ('sqr', 'elementwise', 1),
    ('sqrt', 'elementwise', 1), ('exp', 'elementwise', 1), ('log', 'elementwise', 1), ('sin', 'elementwise', 1),
    ('cos', 'elementwise', 1), ('tanh', 'elementwise', 1), ('erf', 'elementwise', 1), ('relu', 'elementwise', 1),
    ('elu', 'elementwise', 1), ('leaky_relu', 'elementwise', 1), ('gelu', 'elementwise', 1),
    ('gelu_erf', 'elementwise', 1), ('silu', 'elementwise', 1), ('swish', 'elementwise', 1),
    ('sigmoid', 'elementwise', 1), ('floor', 'elementwise', 1), ('ceil', 'elementwise', 1),
    ('round', 'elementwise', 1), ('sign', 'elementwise', 1),
    ('reshape', 'movement', 0), ('view', 'movement', 0), ('flatten', 'movement', 0), ('flatten_all', 'movement', 0),
    ('transpose', 'movement', 0), ('t', 'movement', 0), ('permute', 'movement', 0), ('contiguous', 'movement', 0),
    ('copy', 'movement', 0), ('clone', 'movement', 0), ('detach', 'movement', 0), ('cat', 'movement', 0),
    ('stack', 'movement', 0), ('chunk', 'movement', 0), ('slice', 'movement', 0), ('narrow', 'movement', 0),
    ('squeeze', 'movement', 0), ('unsqueeze', 'movement', 0), ('index_select', 'movement', 0),
    ('embedding', 'movement', 0), ('gather', 'movement', 0), ('where_cond', 'movement', 0),
    ('broadcast_as', 'movement', 0), ('expand', 'movement', 0), ('repeat', 'movement', 0),
    ('to_dtype', 'movement', 0), ('to_device', 'movement', 0), ('zeros', 'movement', 0), ('ones', 'movement', 0),
    ('full', 'movement', 0)
),
runs AS (
  -- A number for each run: operations then meet what is known of them on integers. The joins from it are outer ones, so
  -- that the engine expects as many rows as the large side has, and holds the other.
  SELECT
    run_id,
    timing_mode = 'device_synchronized' AS synchronized,
    row_number() OVER (ORDER BY run_id) AS run_number
  FROM run
),
named AS (
  SELECT
    n.run_number,
    n.synchronized,
    n.run_id,
    n.seq,
    n.span_id,
    n.op_index,
    n.name,
    n.inputs,
    n.shape,
    n.dtype,
    n.device,
    n.duration_ns,
    n.input_dense_bytes,
    n.output_dense_bytes,
    k.rule,
    k.per_element
  FROM rules AS k
  RIGHT JOIN (
    SELECT r.run_number, r.synchronized, o.*, replace(lower(o.name), '-', '_') AS op
    FROM runs AS r
    RIGHT JOIN ops AS o ON r.run_id = o.run_id
  ) AS n
    ON k.op = CASE WHEN starts_with(n.op, 'broadcast_') AND n.op <> 'broadcast_as' THEN substr(n.op, 11) ELSE n.op END
),
inputs AS (
  SELECT run_number, seq, 1 AS position, inputs[1] AS tensor_id
  FROM named
  WHERE rule IN ('matmul', 'linear', 'transposed convolution', 'reduction') AND inputs[1] IS NOT NULL
  UNION ALL
  SELECT run_number, seq, 2 AS position, inputs[2] AS tensor_id
  FROM named
  WHERE rule IN ('matmul', 'linear', 'convolution', 'transposed convolution') AND inputs[2] IS NOT NULL
),
stated AS (
  SELECT r.run_number, t.tensor_id, t.shape FROM runs AS r RIGHT JOIN tensors AS t ON r.run_id = t.run_id
  UNION ALL
  SELECT r.run_number, o.output, o.shape
  FROM runs AS r
  RIGHT JOIN ops AS o ON r.run_id = o.run_id
  WHERE o.output IS NOT NULL
),
found AS (
  -- Shapes as text: neither engine is quick at the smallest of many lists.
  SELECT
    i.run_number,
    i.seq,
    min(CASE WHEN i.position = 1 THEN array_to_string(s.shape, ',') END) AS first_low,
    max(CASE WHEN i.position = 1 THEN array_to_string(s.shape, ',') END) AS first_high,
    min(CASE WHEN i.position = 2 THEN array_to_string(s.shape, ',') END) AS second_low,
    max(CASE WHEN i.position = 2 THEN array_to_string(s.shape, ',') END) AS second_high
  FROM inputs AS i
  JOIN stated AS s ON i.run_number = s.run_number AND i.tensor_id = s.tensor_id
  GROUP BY i.run_number, i.seq
),
agreed AS (
  SELECT
    run_number,
    seq,
    CASE
      WHEN first_low <> first_high THEN NULL
      WHEN first_low = '' THEN CAST([] AS BIGINT[])
      ELSE CAST(string_to_array(first_low, ',') AS BIGINT[])
    END AS first_shape,
    CASE WHEN second_low = second_high AND second_low <> '' THEN CAST(string_to_array(second_low, ',') AS BIGINT[])
    END AS second_shape
  FROM found
),
shaped AS (
  -- Work is the elements of one shape times a factor for each.
  SELECT
    n.*,
    CASE WHEN n.rule IN ('reduction', 'transposed convolution') THEN a.first_shape ELSE n.shape END AS counted_shape,
    CASE
      WHEN n.rule = 'matmul' THEN coalesce(a.first_shape[-1], a.second_shape[-2])
      WHEN n.rule = 'linear' AND a.first_shape IS NOT NULL THEN a.first_shape[-1]
      WHEN n.rule = 'linear' AND a.second_shape[-2] = n.shape[-1] THEN a.second_shape[-1]
      WHEN n.rule = 'linear' AND a.second_shape[-1] = n.shape[-1] THEN a.second_shape[-2]
      ELSE a.second_shape[2]
    END AS inner_size,
    coalesce(a.second_shape[3], 1) AS kernel_first,
    coalesce(a.second_shape[4], 1) AS kernel_second,
    CASE
      WHEN n.rule = 'matmul' THEN a.first_shape[-1] <> a.second_shape[-2]
      WHEN n.rule = 'linear' THEN
        NOT (n.shape[-1] = a.second_shape[-2] AND coalesce(a.first_shape[-1] = a.second_shape[-1], true))
        AND NOT (n.shape[-1] = a.second_shape[-1] AND coalesce(a.first_shape[-1] = a.second_shape[-2], true))
      -- The weight has the dimensions of what it is applied to, and its first is that one's channels.
      WHEN n.rule = 'convolution' THEN
        a.second_shape[1] <> n.shape[2] OR cardinality(a.second_shape) <> cardinality(n.shape)
      WHEN n.rule = 'transposed convolution' THEN
        a.second_shape[1] <> a.first_shape[2] OR cardinality(a.second_shape) <> cardinality(n.shape)
    END AS disagree
  FROM agreed AS a
  RIGHT JOIN named AS n ON a.run_number = n.run_number AND a.seq = n.seq
),
sized AS (
  SELECT
    *,
    -- In floating point, to see what would leave Int64 before it does.
    CAST(coalesce(counted_shape[1], 1) AS DOUBLE) * coalesce(counted_shape[2], 1) * coalesce(counted_shape[3], 1)
      * coalesce(counted_shape[4], 1) * coalesce(counted_shape[5], 1) * coalesce(counted_shape[6], 1)
      * coalesce(counted_shape[7], 1) * coalesce(counted_shape[8], 1) AS rough_elements,
    CAST(greatest(inner_size, 1) AS DOUBLE) * greatest(kernel_first, 1) * greatest(kernel_second, 1) AS rough_factor,
    CASE
      WHEN rule IS NULL THEN 'unknown operation'
      WHEN rule = 'movement' THEN NULL
      WHEN counted_shape IS NULL THEN 'input shapes unknown'
      WHEN rule IN ('matmul', 'linear', 'convolution', 'transposed convolution') AND inner_size IS NULL
        THEN CASE WHEN disagree THEN 'shapes disagree' ELSE 'input shapes unknown' END
      WHEN disagree THEN 'shapes disagree'
      -- Of more than eight dimensions the elements are not counted; nor is a kernel of more than two.
      WHEN counted_shape[9] IS NOT NULL THEN 'out of range'
      WHEN rule IN ('convolution', 'transposed convolution') AND counted_shape[5] IS NOT NULL THEN 'out of range'
    END AS reason
  FROM shaped
),
multiplied AS (
  SELECT
    *,
    CASE
      WHEN reason IS NOT NULL OR rule = 'movement' THEN NULL
      -- Else the others could leave Int64 on the way to 0.
      WHEN array_has(counted_shape, 0) THEN 0
      WHEN rough_elements > 9.2e18 THEN NULL
      ELSE coalesce(counted_shape[1], 1) * coalesce(counted_shape[2], 1) * coalesce(counted_shape[3], 1)
        * coalesce(counted_shape[4], 1) * coalesce(counted_shape[5], 1) * coalesce(counted_shape[6], 1)
        * coalesce(counted_shape[7], 1) * coalesce(counted_shape[8], 1)
    END AS elements,
    CASE
      WHEN rule IN ('matmul', 'linear') THEN CASE WHEN rough_factor < 4.6e18 THEN 2 * inner_size END
      WHEN rule IN ('convolution', 'transposed convolution')
        THEN CASE WHEN rough_factor < 4.6e18 THEN 2 * inner_size * kernel_first * kernel_second END
      ELSE per_element
    END AS factor
  FROM sized
),
counted AS (
  SELECT
    *,
    CASE
      WHEN reason IS NOT NULL THEN NULL
      WHEN rule = 'movement' OR elements = 0 OR factor = 0 THEN 0
      WHEN CAST(elements AS DECIMAL(38, 0)) * CAST(factor AS DECIMAL(38, 0)) <= 9223372036854775807
        THEN elements * factor
    END AS flops
  FROM multiplied
)
SELECT
  run_id,
  seq,
  span_id,
  op_index,
  name,
  shape,
  dtype,
  device,
  CAST(flops AS BIGINT) AS flops,
  CASE WHEN input_dense_bytes <= 9223372036854775807 - output_dense_bytes THEN input_dense_bytes + output_dense_bytes
  END AS bytes_moved,
  duration_ns,
  coalesce(device = 'cpu' OR synchronized, false) AS holds_work,
  rule,
  CASE WHEN flops IS NULL THEN coalesce(reason, 'out of range') END AS uncounted_reason
FROM counted
