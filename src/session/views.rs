//! The views of queries/views/, each after the views it reads.

/// Name and text of every view.
pub const VIEWS: &[(&str, &str)] = &[
    ("measured_region", include_str!("../../queries/views/measured_region.sql")),
    ("span_scopes", include_str!("../../queries/views/span_scopes.sql")),
    ("span_times", include_str!("../../queries/views/span_times.sql")),
];
