//! The ledger of semantic labels: which were expected on a GPU, and which were seen there.
//! In: rows of query `gpu_correlation`. Out: the lists, and whether the ledger is complete. Left to neighbours: where the
//! rows come from (`queries/`), what may be claimed (`evidence`).

use arrow::array::{AsArray, RecordBatch};

/// Which labels were expected, which were seen, and what does not fit; each list in alphabetical order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ledger {
    /// Expected on a GPU.
    pub expected: Vec<String>,
    /// Expected to stay on the CPU.
    pub cpu_only: Vec<String>,
    /// Ranges with GPU work carry them.
    pub observed: Vec<String>,
    /// Expected and observed.
    pub matched: Vec<String>,
    pub missing_expected: Vec<String>,
    /// Observed, and the contract does not name them.
    pub unexpected_observed: Vec<String>,
    /// Observed, and the contract says they stay on the CPU.
    pub unexpected_cpu_only: Vec<String>,
    /// More than one range carries them.
    pub duplicates: Vec<String>,
}

impl Ledger {
    /// The ledger that rows of query `gpu_correlation` make.
    pub fn of(batches: &[RecordBatch]) -> Self {
        let mut ledger = Ledger::default();
        for batch in batches {
            let text = |name: &str| batch.column_by_name(name).and_then(|c| c.as_string_opt::<i32>());
            let (Some(labels), Some(roles), Some(states)) = (text("label"), text("role"), text("status")) else {
                continue;
            };
            let duplicates = batch.column_by_name("duplicate").and_then(|c| c.as_boolean_opt());
            for row in 0..batch.num_rows() {
                let label = || labels.value(row).to_owned();
                match roles.value(row) {
                    "gpu_expected" => ledger.expected.push(label()),
                    "cpu_only" => ledger.cpu_only.push(label()),
                    _ => {}
                }
                let list = match states.value(row) {
                    "matched" => Some(&mut ledger.matched),
                    "missing_expected" => Some(&mut ledger.missing_expected),
                    "unexpected_observed" => Some(&mut ledger.unexpected_observed),
                    "unexpected_cpu_only" => Some(&mut ledger.unexpected_cpu_only),
                    _ => None,
                };
                if let Some(list) = list {
                    list.push(label());
                }
                if !matches!(states.value(row), "missing_expected" | "cpu_only") {
                    ledger.observed.push(label());
                }
                if duplicates.is_some_and(|d| d.value(row)) {
                    ledger.duplicates.push(label());
                }
            }
        }
        for list in ledger.lists_mut() {
            list.sort_unstable();
        }
        ledger
    }

    fn lists_mut(&mut self) -> [&mut Vec<String>; 8] {
        [
            &mut self.expected,
            &mut self.cpu_only,
            &mut self.observed,
            &mut self.matched,
            &mut self.missing_expected,
            &mut self.unexpected_observed,
            &mut self.unexpected_cpu_only,
            &mut self.duplicates,
        ]
    }

    /// Whether something was expected, and nothing is missing, unexpected or seen twice.
    pub fn is_complete(&self) -> bool {
        !self.expected.is_empty() && self.problems().is_empty()
    }

    /// What keeps the ledger from being complete: how many labels, in which way.
    pub fn problems(&self) -> Vec<(usize, &'static str)> {
        [
            (self.missing_expected.len(), "missing"),
            (self.unexpected_observed.len(), "not in the contract"),
            (self.unexpected_cpu_only.len(), "meant to stay on the CPU"),
            (self.duplicates.len(), "seen more than once"),
        ]
        .into_iter()
        .filter(|(labels, _)| *labels > 0)
        .collect()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{ArrayRef, BooleanArray, StringArray};

    use super::*;

    fn rows(lines: &[(&str, &str, &str, bool)]) -> Vec<RecordBatch> {
        let text = |get: fn(&(&str, &str, &str, bool)) -> String| -> ArrayRef {
            Arc::new(StringArray::from_iter_values(lines.iter().map(get)))
        };
        let columns = [
            ("label", text(|l| l.0.to_owned())),
            ("role", text(|l| l.1.to_owned())),
            ("status", text(|l| l.2.to_owned())),
            ("duplicate", Arc::new(BooleanArray::from_iter(lines.iter().map(|l| Some(l.3)))) as ArrayRef),
        ];
        vec![RecordBatch::try_from_iter(columns).expect("columns of one length")]
    }

    #[test]
    fn a_ledger_is_complete_only_if_everything_fits() {
        let fine = [("a", "gpu_expected", "matched", false), ("io", "cpu_only", "cpu_only", false)];
        let ledger = Ledger::of(&rows(&fine));
        assert!(ledger.is_complete());
        assert_eq!((ledger.observed, ledger.cpu_only), (vec!["a".to_owned()], vec!["io".to_owned()]));
        for wrong in [
            ("b", "gpu_expected", "missing_expected", false),
            ("b", "none", "unexpected_observed", false),
            ("b", "cpu_only", "unexpected_cpu_only", false),
            ("b", "gpu_expected", "matched", true),
        ] {
            assert!(!Ledger::of(&rows(&[fine[0], wrong])).is_complete(), "{wrong:?}");
        }
        // Nothing expected, nothing proved.
        assert!(!Ledger::of(&rows(&[fine[1]])).is_complete());
    }
}
