//! What the error type names of the query engine, without the engine.
//! In: nothing. Out: an error that nothing makes. Left to neighbours: everything.

/// As in DataFusion.
pub mod error {

    /// No value of it exists in the importer.
    #[derive(Debug)]
    pub enum DataFusionError {
        ResourcesExhausted(String),
        Other,
    }

    impl DataFusionError {
        pub fn strip_backtrace(&self) -> String {
            format!("{self:?}")
        }

        pub fn find_root(&self) -> &Self {
            self
        }
    }
}
