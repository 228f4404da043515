//! Edge out: documents for tools and for people, and the one way files are written.
//! In: examined traces. Out: JSON documents with a schema, text for terminals, bytes on disk whole or not at all.
//! Left to neighbours: what is claimed (`evidence`), flags (`cli`).

pub mod bounds;
pub mod bundle;
pub mod campaign;
pub mod cohort;
mod columns;
pub mod compare;
pub mod documents;
mod each;
pub mod export;
mod html;
pub mod nsight_manifest;
pub mod overview;
pub mod protocol;
pub mod query;
pub mod redact;
pub mod report;
pub mod rows;
pub mod schemas;
pub mod series;
pub mod sql;
pub mod summary;
pub mod terminal;
#[cfg(feature = "visualizer")]
pub mod viewer;
pub mod write;
