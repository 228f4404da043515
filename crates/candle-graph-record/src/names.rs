//! The closed vocabularies of a trace: span kinds, steps, phases, categories, states, levels.
//! In: nothing. Out: enums with the one spelling that tables and JSON lines share. Left to neighbours: rows.

/// An enum whose every value has one spelling, listed once.
macro_rules! vocabulary {
    ($(#[$doc:meta])* $name:ident { $($(#[$vdoc:meta])* $variant:ident = $text:literal),+ $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[cfg_attr(feature = "jsonl", derive(serde::Serialize, serde::Deserialize))]
        pub enum $name { $($(#[$vdoc])* #[cfg_attr(feature = "jsonl", serde(rename = $text))] $variant),+ }

        impl $name {
            /// Every value.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// The spelling in tables and JSON lines.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $text),+ }
            }

            /// The value spelled `text`, if there is one.
            pub fn parse(text: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|v| v.as_str() == text)
            }
        }
    };
}

vocabulary! {
    /// What a span stands for.
    SpanKind { Function = "function", Op = "op", Module = "module" }
}
vocabulary! {
    /// The part of an update or invocation a span belongs to.
    ExecutionStep { Forward = "forward", Backward = "backward", Optimizer = "optimizer" }
}
vocabulary! {
    /// Whether the captured invocation trains or infers.
    ExecutionPhase { Train = "train", Infer = "infer" }
}
vocabulary! {
    /// What a storage or tensor is for, as the program says.
    MemoryCategory {
        Parameter = "parameter", Activation = "activation", Gradient = "gradient", Optimizer = "optimizer", Other = "other",
    }
}
vocabulary! {
    /// The state of one parameter's gradient.
    GradientState { Present = "present", Missing = "missing", Zero = "zero", NonFinite = "non_finite" }
}
vocabulary! {
    /// How much of a plane the producer says it recorded. Ordered: `None < Partial < Complete`.
    CoverageLevel { None = "none", Partial = "partial", Complete = "complete" }
}
vocabulary! {
    /// What the measured region measures.
    MeasurementScope {
        Unknown = "unknown", ProfiledWork = "profiled_work", ProductionEquivalent = "production_equivalent",
    }
}
vocabulary! {
    /// What the end of a span means for its duration.
    TimingMode {
        /// Host time: for an asynchronous device, launch time.
        Host = "host",
        /// The program synchronized the device at both ends of every span.
        DeviceSynchronized = "device_synchronized",
    }
}
vocabulary! {
    /// How a capture ended.
    Outcome { Complete = "complete", Failed = "failed", Interrupted = "interrupted" }
}
vocabulary! {
    /// What a gradient family promises.
    FamilyExpectation { Active = "active", Inactive = "inactive", DataConditional = "data_conditional" }
}
vocabulary! {
    /// The side of a comparison that a run belongs to.
    Cohort { Baseline = "baseline", Candidate = "candidate" }
}
