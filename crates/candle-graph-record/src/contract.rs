//! What the producer claims: coverage levels, semantic labels, the gradient manifest, the comparison identity.
//! In: the program's declarations. Out: validated values and the manifest's digest.
//! Left to neighbours: whether the claims hold (the analysing crate's health checks).

use std::collections::{HashMap, HashSet};

use sha2::{Digest, Sha256};

use crate::error::{Error, Result};
use crate::names::{CoverageLevel, FamilyExpectation, MeasurementScope};

/// What the program claims to record over the measured region.
#[derive(Clone, Debug, PartialEq)]
pub struct CaptureContract {
    pub measurement_scope: MeasurementScope,
    pub operations: CoverageLevel,
    pub activations: CoverageLevel,
    pub tensors: CoverageLevel,
    pub gradients: CoverageLevel,
    /// The exact manifest; given if and only if `gradients` is `Complete`.
    pub gradient_contract: Option<GradientContract>,
    pub logical_memory: CoverageLevel,
    pub physical_memory: CoverageLevel,
    pub device_timing: CoverageLevel,
    /// Labels that must each name exactly one span.
    pub required_semantic_labels: Vec<String>,
    /// The required labels that launch GPU work; with `cpu_only_semantic_labels` a partition, or both empty.
    pub gpu_expected_semantic_labels: Vec<String>,
    pub cpu_only_semantic_labels: Vec<String>,
}

impl Default for CaptureContract {
    fn default() -> Self {
        Self {
            measurement_scope: MeasurementScope::Unknown,
            operations: CoverageLevel::None,
            activations: CoverageLevel::None,
            tensors: CoverageLevel::None,
            gradients: CoverageLevel::None,
            gradient_contract: None,
            logical_memory: CoverageLevel::None,
            physical_memory: CoverageLevel::None,
            device_timing: CoverageLevel::None,
            required_semantic_labels: Vec::new(),
            gpu_expected_semantic_labels: Vec::new(),
            cpu_only_semantic_labels: Vec::new(),
        }
    }
}

/// One problem of a contract, under the code the health check uses for the same problem.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContractProblem {
    pub code: &'static str,
    pub field: String,
    pub problem: String,
}

impl CaptureContract {
    /// Every problem of the contract in itself; empty when it is sound.
    pub fn problems(&self) -> Vec<ContractProblem> {
        let mut found = Vec::new();
        let mut report = |code, field: &str, problem: String| {
            found.push(ContractProblem { code, field: field.to_owned(), problem });
        };
        let storage_declared = self.tensors > CoverageLevel::None || self.logical_memory > CoverageLevel::None;
        if self.activations == CoverageLevel::Complete
            && !(self.operations == CoverageLevel::Complete && storage_declared)
        {
            report(
                "run_provenance_invalid",
                "activations",
                "complete needs complete operations, and tensors or logical_memory declared".to_owned(),
            );
        }
        let mut required = HashSet::new();
        for label in &self.required_semantic_labels {
            if label.is_empty() {
                report("empty_required_semantic_label", "required_semantic_labels", "holds an empty label".to_owned());
            } else if !required.insert(label.as_str()) {
                report(
                    "duplicate_required_semantic_label",
                    "required_semantic_labels",
                    format!("names {label:?} more than once"),
                );
            }
        }
        let mut classified: HashMap<&str, &str> = HashMap::new();
        for (field, labels) in [
            ("gpu_expected_semantic_labels", &self.gpu_expected_semantic_labels),
            ("cpu_only_semantic_labels", &self.cpu_only_semantic_labels),
        ] {
            for label in labels {
                if label.is_empty() {
                    report("empty_semantic_label_classification", field, "holds an empty label".to_owned());
                    continue;
                }
                match classified.insert(label, field) {
                    Some(before) if before == field => report(
                        "duplicate_semantic_label_classification",
                        field,
                        format!("names {label:?} more than once"),
                    ),
                    Some(_) => report(
                        "overlapping_semantic_label_classification",
                        field,
                        format!("names {label:?}, which is also GPU-expected"),
                    ),
                    None => {}
                }
                if !required.contains(label.as_str()) {
                    report(
                        "unrequired_semantic_label_classification",
                        field,
                        format!("names {label:?}, which is not a required label"),
                    );
                }
            }
        }
        if !classified.is_empty() {
            let missing: Vec<&str> = self
                .required_semantic_labels
                .iter()
                .map(String::as_str)
                .filter(|l| !l.is_empty() && !classified.contains_key(l))
                .collect();
            if !missing.is_empty() {
                report(
                    "incomplete_semantic_label_partition",
                    "gpu_expected_semantic_labels",
                    format!("and cpu_only_semantic_labels leave out {missing:?}"),
                );
            }
        }
        match (&self.gradient_contract, self.gradients) {
            (None, CoverageLevel::Complete) => {
                report("gradient_contract_missing", "gradients", "complete needs a gradient_contract".to_owned())
            }
            (Some(_), level) if level != CoverageLevel::Complete => report(
                "gradient_contract_without_complete_coverage",
                "gradient_contract",
                format!("is given, but gradients is {}", level.as_str()),
            ),
            (Some(contract), _) => {
                for (code, problem) in contract.problems() {
                    report(code, "gradient_contract", problem);
                }
            }
            (None, _) => {}
        }
        found
    }

    pub(crate) fn validate(&self) -> Result<()> {
        match self.problems().into_iter().next() {
            None => Ok(()),
            Some(p) => Err(Error::Contract { field: p.field, problem: p.problem }),
        }
    }
}

/// The exact list of gradients a capture must hold, and what each family promises.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GradientContract {
    expected: Vec<ExpectedGradient>,
    families: Vec<GradientFamilyContract>,
    /// The digest a trace states, where it was read from one.
    stated_digest: Option<String>,
}

/// One entry of the manifest.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "jsonl", derive(serde::Serialize, serde::Deserialize))]
pub struct ExpectedGradient {
    pub root: String,
    pub key: String,
    pub family: String,
}

impl ExpectedGradient {
    /// An entry of the manifest.
    pub fn new(root: impl Into<String>, key: impl Into<String>, family: impl Into<String>) -> Self {
        Self { root: root.into(), key: key.into(), family: family.into() }
    }
}

/// What one family promises.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "jsonl", derive(serde::Serialize, serde::Deserialize))]
pub struct GradientFamilyContract {
    pub family: String,
    pub expectation: FamilyExpectation,
    /// Members that must be `present`; 0 for an inactive family.
    pub min_present: u64,
}

impl GradientFamilyContract {
    /// At least `min_present` members have a gradient in every update.
    pub fn active(family: impl Into<String>, min_present: u64) -> Self {
        Self { family: family.into(), expectation: FamilyExpectation::Active, min_present }
    }

    /// No member ever has a gradient (frozen parameters).
    pub fn inactive(family: impl Into<String>) -> Self {
        Self { family: family.into(), expectation: FamilyExpectation::Inactive, min_present: 0 }
    }

    /// Depending on the data, no member has a gradient or at least `min_present` have.
    pub fn data_conditional(family: impl Into<String>, min_present: u64) -> Self {
        Self { family: family.into(), expectation: FamilyExpectation::DataConditional, min_present }
    }
}

impl GradientContract {
    /// A contract over the ordered manifest `expected`, with one rule per family.
    ///
    /// # Errors
    /// When an entry is empty or repeated, a family has no rule or two, a rule has no member, or `min_present` is not
    /// in `1..=members` for a family that may be active.
    pub fn new(expected: Vec<ExpectedGradient>, families: Vec<GradientFamilyContract>) -> Result<Self> {
        let contract = Self::unchecked(expected, families, None);
        match contract.problems().into_iter().next() {
            None => Ok(contract),
            Some((_, problem)) => Err(Error::Contract { field: "gradient_contract".to_owned(), problem }),
        }
    }

    /// A contract as some trace states it, sound or not, with the digest stated there: what a health check reads.
    pub fn unchecked(
        expected: Vec<ExpectedGradient>,
        families: Vec<GradientFamilyContract>,
        stated_digest: Option<String>,
    ) -> Self {
        Self { expected, families, stated_digest }
    }

    /// The ordered manifest.
    pub fn expected(&self) -> &[ExpectedGradient] {
        &self.expected
    }

    /// The rules.
    pub fn families(&self) -> &[GradientFamilyContract] {
        &self.families
    }

    /// The digest the trace states, or else the one the entries give.
    pub fn stated_digest(&self) -> String {
        self.stated_digest.clone().unwrap_or_else(|| self.digest())
    }

    /// Every problem of the contract in itself, with its health code.
    pub fn problems(&self) -> Vec<(&'static str, String)> {
        const INVALID: &str = "gradient_contract_invalid";
        let mut found = Vec::new();
        if self.expected.is_empty() {
            found.push((INVALID, "expects no gradient".to_owned()));
        }
        if let Some(stated) = self.stated_digest.as_ref().filter(|stated| **stated != self.digest()) {
            found.push((INVALID, format!("states digest {stated}, but its entries give {}", self.digest())));
        }
        let mut keys = HashSet::new();
        let mut members: HashMap<&str, u64> = HashMap::new();
        for entry in &self.expected {
            if entry.root.is_empty() || entry.key.is_empty() || entry.family.is_empty() {
                found.push((INVALID, format!("has an entry with an empty part: {entry:?}")));
            }
            if !keys.insert((entry.root.as_str(), entry.key.as_str())) {
                found.push((
                    "gradient_manifest_duplicate_key",
                    format!("lists {:?} of root {:?} more than once", entry.key, entry.root),
                ));
            }
            *members.entry(&entry.family).or_default() += 1;
        }
        let mut ruled = HashSet::new();
        for rule in &self.families {
            if !ruled.insert(rule.family.as_str()) {
                found.push((INVALID, format!("has two rules for family {:?}", rule.family)));
            }
            let Some(&count) = members.get(rule.family.as_str()) else {
                found.push((INVALID, format!("has a rule for family {:?}, which has no member", rule.family)));
                continue;
            };
            let sound = match rule.expectation {
                FamilyExpectation::Inactive => rule.min_present == 0,
                FamilyExpectation::Active | FamilyExpectation::DataConditional => {
                    (1..=count).contains(&rule.min_present)
                }
            };
            if !sound {
                found.push((
                    INVALID,
                    format!(
                        "family {:?} ({}) has min_present {} for {count} member(s)",
                        rule.family,
                        rule.expectation.as_str(),
                        rule.min_present
                    ),
                ));
            }
        }
        let mut unruled: Vec<&str> = members.keys().copied().filter(|f| !ruled.contains(f)).collect();
        unruled.sort_unstable();
        if !unruled.is_empty() {
            found.push((INVALID, format!("has no rule for families {unruled:?}")));
        }
        found
    }

    /// Digest of the ordered manifest, `sha256:<hex>`: SHA-256 over `candle-graph/gradient-manifest/1`, NUL, then for
    /// each entry root, key and family, each as a little-endian u64 length and its UTF-8 bytes.
    pub fn digest(&self) -> String {
        use std::fmt::Write;
        let mut hash = Sha256::new();
        hash.update(b"candle-graph/gradient-manifest/1\0");
        for entry in &self.expected {
            for part in [&entry.root, &entry.key, &entry.family] {
                hash.update((part.len() as u64).to_le_bytes());
                hash.update(part.as_bytes());
            }
        }
        hash.finalize().iter().fold("sha256:".to_owned(), |mut text, byte| {
            let _ = write!(text, "{byte:02x}");
            text
        })
    }
}

/// What must be equal between two runs before their times may be compared.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "jsonl", derive(serde::Serialize, serde::Deserialize))]
pub struct ComparisonIdentity {
    /// The implementation under test; the one field that may differ between cohorts.
    #[cfg_attr(feature = "jsonl", serde(default, skip_serializing_if = "Option::is_none"))]
    pub implementation_id: Option<String>,
    pub workload_id: String,
    pub model_id: String,
    pub config_id: String,
    pub data_id: String,
    pub seed_policy: String,
    pub physical_batch: u64,
    pub accumulation_steps: u64,
    pub precision: String,
    pub device_state: String,
    /// The pair this run belongs to, where runs are paired.
    #[cfg_attr(feature = "jsonl", serde(default, skip_serializing_if = "Option::is_none"))]
    pub pair_id: Option<String>,
}

impl ComparisonIdentity {
    /// The first problem of the identity, as `(field, problem)`.
    pub fn problem(&self) -> Option<(&'static str, &'static str)> {
        let texts = [
            ("implementation_id", self.implementation_id.as_deref()),
            ("workload_id", Some(self.workload_id.as_str())),
            ("model_id", Some(&self.model_id)),
            ("config_id", Some(&self.config_id)),
            ("data_id", Some(&self.data_id)),
            ("seed_policy", Some(&self.seed_policy)),
            ("precision", Some(&self.precision)),
            ("device_state", Some(&self.device_state)),
            ("pair_id", self.pair_id.as_deref()),
        ];
        texts
            .into_iter()
            .find(|(_, text)| text.is_some_and(|t| t.trim().is_empty()))
            .map(|(field, _)| (field, "is empty"))
            .or((self.physical_batch == 0).then_some(("physical_batch", "is 0; it is at least 1")))
            .or((self.accumulation_steps == 0).then_some(("accumulation_steps", "is 0; it is at least 1")))
    }
}
