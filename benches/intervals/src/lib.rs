//! The project's statistics alone, under the path that they have in the project.

pub mod analysis;
