//! Every file of queries/, embedded: name and text.

/// Name and text of every query, in the order of docs/queries.md.
pub const QUERIES: &[(&str, &str)] = &[
    ("labels", include_str!("../../queries/labels.sql")),
    ("spans", include_str!("../../queries/spans.sql")),
    ("call_edges", include_str!("../../queries/call_edges.sql")),
    ("slowest_host", include_str!("../../queries/slowest_host.sql")),
    ("outer_wall", include_str!("../../queries/outer_wall.sql")),
    ("ranked_spans", include_str!("../../queries/ranked_spans.sql")),
    ("ops", include_str!("../../queries/ops.sql")),
    ("op_names", include_str!("../../queries/op_names.sql")),
    ("tensors", include_str!("../../queries/tensors.sql")),
    ("tensor_stats", include_str!("../../queries/tensor_stats.sql")),
    ("tensor_stat_totals", include_str!("../../queries/tensor_stat_totals.sql")),
    ("non_finite_stats", include_str!("../../queries/non_finite_stats.sql")),
    ("gradients", include_str!("../../queries/gradients.sql")),
    ("gradient_states", include_str!("../../queries/gradient_states.sql")),
    ("gradient_problems", include_str!("../../queries/gradient_problems.sql")),
    ("memory_totals", include_str!("../../queries/memory_totals.sql")),
    ("activation_evidence", include_str!("../../queries/activation_evidence.sql")),
    ("device_memory", include_str!("../../queries/device_memory.sql")),
];
