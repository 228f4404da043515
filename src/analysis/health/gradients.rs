//! Gradients against their states and against the manifest.

use std::collections::{HashMap, HashSet};

use arrow::array::{Array, AsArray, RecordBatch};
use arrow::datatypes::Float64Type;
use candle_graph_record::{FamilyExpectation, GradientState, gradient_problem};

use super::Check;

/// The gradients recorded so far.
#[derive(Default)]
pub(super) struct Seen {
    events: HashSet<String>,
    states: HashMap<(String, String), GradientState>,
}

impl Check<'_> {
    pub(super) fn feed_gradients(&mut self, batch: &RecordBatch) {
        self.counts.gradients += batch.num_rows() as u64;
        let [events, roots, keys, states] = ["event_id", "root", "key", "state"].map(|c| batch[c].as_string::<i32>());
        let norms = batch["norm"].as_primitive::<Float64Type>();
        for row in 0..batch.num_rows() {
            let (event, root, key) = (events.value(row), roots.value(row), keys.value(row));
            let norm = norms.is_valid(row).then(|| norms.value(row));
            if event.is_empty() {
                self.issues.add("empty_gradient_event_id", || format!("{root}/{key}"));
            } else if !self.gradients.events.insert(event.to_owned()) {
                self.issues.add("duplicate_gradient_event_id", || event.to_owned());
            }
            if root.is_empty() || key.is_empty() {
                self.issues.add("empty_gradient_parameter_key", || format!("event {event:?}"));
            }
            let Some(state) = GradientState::parse(states.value(row)) else {
                self.issues
                    .add("gradient_state_norm_inconsistent", || format!("{root}/{key}: {:?}", states.value(row)));
                continue;
            };
            if let Some(problem) = gradient_problem(state, norm) {
                self.issues.add("gradient_state_norm_inconsistent", || {
                    let norm = norm.map_or("no norm".to_owned(), |norm| format!("norm {norm:?}"));
                    format!("{root}/{key}: {} with {norm}; {problem}", state.as_str())
                });
            }
            let before = self.gradients.states.insert((root.to_owned(), key.to_owned()), state);
            if before.is_some() && self.run.contract.gradient_contract.is_some() {
                self.issues.add("gradient_manifest_duplicate_key", || format!("{root}/{key} recorded twice"));
            }
        }
    }

    pub(super) fn check_gradients(&mut self) {
        let Some(contract) = &self.run.contract.gradient_contract else { return };
        let states = std::mem::take(&mut self.gradients.states);
        let mut families: HashMap<&str, Vec<GradientState>> = HashMap::new();
        let mut declared = HashSet::new();
        for entry in contract.expected() {
            let parameter = (entry.root.clone(), entry.key.clone());
            match states.get(&parameter) {
                None => {
                    self.issues.add("gradient_manifest_missing_key", || format!("{}/{}", entry.root, entry.key));
                }
                Some(&state) => families.entry(&entry.family).or_default().push(state),
            }
            declared.insert(parameter);
        }
        let mut undeclared: Vec<_> = states.keys().filter(|p| !declared.contains(*p)).collect();
        undeclared.sort_unstable();
        for (root, key) in undeclared {
            self.issues.add("gradient_manifest_undeclared_key", || format!("{root}/{key}"));
        }
        for rule in contract.families() {
            let members = families.get(rule.family.as_str()).map_or(&[][..], Vec::as_slice);
            let count = |state| members.iter().filter(|&&s| s == state).count() as u64;
            let (present, non_finite) = (count(GradientState::Present), count(GradientState::NonFinite));
            let family = &rule.family;
            if non_finite > 0 {
                self.issues.add("gradient_family_non_finite", || format!("{family}: {non_finite}"));
            }
            let short = format!("{family}: {present} present, {} promised", rule.min_present);
            match rule.expectation {
                FamilyExpectation::Active if present < rule.min_present => {
                    self.issues.add("gradient_active_family_below_minimum", || short);
                }
                FamilyExpectation::DataConditional if present > 0 && present < rule.min_present => {
                    self.issues.add("gradient_conditional_family_below_minimum", || short);
                }
                FamilyExpectation::Inactive if present + non_finite > 0 => {
                    self.issues.add("gradient_inactive_family_leakage", || format!("{family}: {present} present"));
                }
                _ => {}
            }
        }
    }
}
