//! The views of queries/views/, each after the views it reads.

/// Name and text of every view.
pub const VIEWS: &[(&str, &str)] = &[
    ("measured_region", include_str!("../../queries/views/measured_region.sql")),
    ("span_scopes", include_str!("../../queries/views/span_scopes.sql")),
    ("span_times", include_str!("../../queries/views/span_times.sql")),
    ("stat_tensors", include_str!("../../queries/views/stat_tensors.sql")),
    ("non_finite_events", include_str!("../../queries/views/non_finite_events.sql")),
    ("tensor_origins", include_str!("../../queries/views/tensor_origins.sql")),
    ("data_flow", include_str!("../../queries/views/data_flow.sql")),
    ("gradient_expectations", include_str!("../../queries/views/gradient_expectations.sql")),
    ("critical_spans", include_str!("../../queries/views/critical_spans.sql")),
    ("device_unions", include_str!("../../queries/views/device_unions.sql")),
    ("storage_lifetimes", include_str!("../../queries/views/storage_lifetimes.sql")),
    ("activation_ops", include_str!("../../queries/views/activation_ops.sql")),
    ("op_device_times", include_str!("../../queries/views/op_device_times.sql")),
    ("op_work", include_str!("../../queries/views/op_work.sql")),
    ("peak_moment", include_str!("../../queries/views/peak_moment.sql")),
    ("peak_storages", include_str!("../../queries/views/peak_storages.sql")),
    ("storages", include_str!("../../queries/views/storages.sql")),
    ("span_memory", include_str!("../../queries/views/span_memory.sql")),
];
