//! The reader's tests: generated files, SQL against its headers and golden rows, health codes, findings, bad input, layering.
//! Each test is a small world whose answer a person can work out.

mod binding;
mod bundle;
mod campaign;
mod capture;
mod cohort;
mod compare;
mod compare_page;
mod edges;
mod eligibility;
mod findings;
mod generated;
mod health;
mod layering;
mod load;
mod nsight;
mod redact;
mod report;
mod round_trip;
mod sql;
mod statistics;
#[cfg(feature = "visualizer")]
mod viewer;
mod world;
