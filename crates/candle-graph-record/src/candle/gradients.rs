//! Gradients of named parameters: the manifest a capture promises and the rows that keep the promise.
//! In: named variables, their families, a `GradStore`. Out: a [`GradientContract`], one row of `gradients` a parameter.
//! Left to neighbours: what the contract means (`contract`), reading gradients (`elements`).

use candle_core::Var;
use candle_core::backprop::GradStore;

use super::elements;
use crate::contract::{ExpectedGradient, GradientContract, GradientFamilyContract};
use crate::error::Result;
use crate::names::GradientState;
use crate::session::TraceSession;
use crate::span::SpanId;

/// The parameters whose gradients a capture records, all of them and no other. Holds handles of the variables.
#[derive(Clone, Debug)]
pub struct GradientCapturePlan {
    root: String,
    vars: Vec<(String, Var)>,
    contract: GradientContract,
}

impl GradientCapturePlan {
    /// A plan over `vars`, sorted by name; `assign_family` gives each name its family, `families` each family its rule.
    ///
    /// # Errors
    /// As [`GradientContract::new`]: no variable, an empty or repeated name, a family without a rule, a rule without a
    /// member.
    pub fn from_named_vars<N: Into<String>, F: Into<String>>(
        root: impl Into<String>,
        vars: impl IntoIterator<Item = (N, Var)>,
        assign_family: impl Fn(&str) -> F,
        families: Vec<GradientFamilyContract>,
    ) -> Result<Self> {
        let root = root.into();
        let mut vars: Vec<(String, Var)> = vars.into_iter().map(|(name, var)| (name.into(), var)).collect();
        vars.sort_by(|a, b| a.0.cmp(&b.0));
        let expected =
            vars.iter().map(|(name, _)| ExpectedGradient::new(root.as_str(), name.as_str(), assign_family(name)));
        let contract = GradientContract::new(expected.collect(), families)?;
        Ok(Self { root, vars, contract })
    }

    /// The root the parameters are recorded under.
    pub fn root(&self) -> &str {
        &self.root
    }

    /// The exact manifest: clone it into `CaptureContract::gradient_contract` beside `gradients: Complete`.
    pub fn contract(&self) -> &GradientContract {
        &self.contract
    }

    /// The parameters that `grads` holds no gradient for, by name. Not an error in itself (a frozen parameter has
    /// none), but the one sign of an operation without a backward pass: candle-nn's fused softmax, layer norm, rms
    /// norm, rope and attention cut the graph and say nothing.
    pub fn missing(&self, grads: &GradStore) -> Vec<&str> {
        self.vars.iter().filter(|(_, var)| grads.get(var).is_none()).map(|(name, _)| name.as_str()).collect()
    }

    /// Records state and L2 norm of every parameter's gradient, in the order of the names: `missing` without one,
    /// `non_finite` when an element is NaN or infinite, `zero`, else `present`. A norm is in f64 and cannot overflow:
    /// it saturates at `f64::MAX`. Costs one pass over each gradient.
    ///
    /// # Errors
    /// The first gradient that cannot be read or recorded; the others are recorded all the same.
    pub fn record(&self, session: &TraceSession, grads: &GradStore) -> Result<()> {
        let mut first = Ok(());
        for (name, var) in &self.vars {
            let recorded = session
                .counted(state_and_norm(var, grads))
                .and_then(|(state, norm)| session.record_gradient(&self.root, name, state, norm));
            first = first.and(recorded);
        }
        first
    }

    /// Records a summary of every gradient's values in an open span, labelled `gradient/<name>`.
    ///
    /// # Errors
    /// As [`TraceSession::record_tensor_stats`]; the others are recorded all the same.
    pub fn record_stats(&self, session: &TraceSession, span: SpanId, grads: &GradStore) -> Result<()> {
        let mut first = Ok(());
        for (name, var) in &self.vars {
            if let Some(grad) = grads.get(var) {
                first = first.and(session.record_tensor_stats(span, format!("gradient/{name}"), grad));
            }
        }
        first
    }
}

fn state_and_norm(var: &Var, grads: &GradStore) -> Result<(GradientState, Option<f64>)> {
    let Some(grad) = grads.get(var) else { return Ok((GradientState::Missing, None)) };
    let read = elements::read("record_gradient", grad)?;
    Ok(if !read.moments.all_finite() {
        (GradientState::NonFinite, None)
    } else {
        match read.moments.norm(read.repeat) {
            0.0 => (GradientState::Zero, Some(0.0)),
            norm => (GradientState::Present, Some(norm)),
        }
    })
}

#[cfg(test)]
mod tests {
    use candle_core::{DType, Device, Module, Result as CandleResult, Tensor};
    use candle_nn::{LayerNorm, Linear};

    use super::super::testing::trace;
    use super::*;

    fn families() -> Vec<GradientFamilyContract> {
        vec![GradientFamilyContract::active("all", 1)]
    }

    fn plan(vars: Vec<(&str, Var)>) -> GradientCapturePlan {
        GradientCapturePlan::from_named_vars("model", vars, |_| "all", families()).expect("a sound plan")
    }

    fn var(values: &[f32]) -> Var {
        Var::new(values, &Device::Cpu).expect("a variable")
    }

    #[test]
    fn the_manifest_is_sorted_and_checked() {
        let plan = GradientCapturePlan::from_named_vars(
            "model",
            [("b.weight", var(&[1.])), ("a.bias", var(&[1.])), ("a.weight", var(&[1.]))],
            |name| if name.ends_with("bias") { "bias" } else { "weight" },
            vec![GradientFamilyContract::active("weight", 2), GradientFamilyContract::inactive("bias")],
        )
        .expect("a sound plan");
        let entries: Vec<_> = plan.contract().expected().iter().map(|e| format!("{} {}", e.key, e.family)).collect();
        assert_eq!(entries, ["a.bias bias", "a.weight weight", "b.weight weight"]);
        assert_eq!(plan.root(), "model");
        let twice = vec![("a".to_owned(), var(&[1.])), ("a".to_owned(), var(&[1.]))];
        assert!(GradientCapturePlan::from_named_vars("model", twice, |_| "all".to_owned(), families()).is_err());
        assert!(
            GradientCapturePlan::from_named_vars("model", Vec::<(String, Var)>::new(), |_| "all", families()).is_err()
        );
    }

    #[test]
    fn states_and_norms_are_those_of_the_gradients() -> CandleResult<()> {
        // d/dx of sum(x * w) is w.
        let (x, dead, frozen, broken) = (var(&[1., 1.]), var(&[1., 2.]), var(&[1.]), var(&[0., 1.]));
        // Times a tensor: candle prunes a factor of 0.0, and such a gradient would be missing.
        let dead_loss = dead.mul(&Tensor::zeros(2, DType::F32, &Device::Cpu)?)?.sum_all()?;
        let loss = (x.mul(&Tensor::new(&[3f32, -4.], &Device::Cpu)?)?.sum_all()? + dead_loss)?;
        let loss = (loss + broken.log()?.sum_all()?)?;
        let grads = loss.backward()?;
        let plan = plan(vec![("x", x), ("dead", dead), ("frozen", frozen), ("broken", broken)]);
        assert_eq!(plan.missing(&grads), ["frozen"]);
        let trace = trace(|session, span| {
            plan.record(session, &grads).expect("four rows");
            plan.record_stats(session, span, &grads).expect("three rows");
        });
        let rows = trace.rows("gradients", &["root", "key", "state", "norm"]);
        assert_eq!(
            rows,
            ["model broken non_finite -", "model dead zero 0.0", "model frozen missing -", "model x present 5.0"]
        );
        let rows = trace.rows("tensor_stats", &["label", "elements", "pos_inf", "mean"]);
        assert_eq!(rows, ["gradient/broken 2 1 -", "gradient/dead 2 0 0.0", "gradient/x 2 0 -0.5"]);
        Ok(())
    }

    #[test]
    fn a_norm_does_not_overflow_where_its_squares_do() -> CandleResult<()> {
        let wide = Var::from_tensor(&Tensor::new(&[1f64, 1.], &Device::Cpu)?)?;
        let scaled = wide.mul(&Tensor::new(&[3e200f64, 4e200], &Device::Cpu)?)?;
        let grads = scaled.sum_all()?.backward()?;
        let plan = plan(vec![("wide", wide)]);
        let trace = trace(|session, _| plan.record(session, &grads).expect("a row"));
        let norm: f64 = trace.column("gradients", "norm")[0].parse().expect("a norm");
        assert!((norm / 5e200 - 1.0).abs() < 1e-15, "{norm:e}");
        Ok(())
    }

    #[test]
    fn the_audit_names_parameters_behind_a_fused_layer_norm() -> CandleResult<()> {
        let device = Device::Cpu;
        let weight = |rows, cols| Var::randn(0f32, 1f32, (rows, cols), &device);
        let (w1, w2) = (weight(8, 4)?, weight(2, 8)?);
        let (b1, b2) = (Var::zeros(8, DType::F32, &device)?, Var::zeros(2, DType::F32, &device)?);
        let (gain, shift) = (Var::ones(8, DType::F32, &device)?, Var::zeros(8, DType::F32, &device)?);
        let fc1 = Linear::new(w1.as_tensor().clone(), Some(b1.as_tensor().clone()));
        let norm = LayerNorm::new(gain.as_tensor().clone(), shift.as_tensor().clone(), 1e-5);
        let fc2 = Linear::new(w2.as_tensor().clone(), Some(b2.as_tensor().clone()));
        let x = Tensor::ones((3, 4), DType::F32, &device)?;
        let grads = fc2.forward(&norm.forward(&fc1.forward(&x)?)?)?.sqr()?.sum_all()?.backward()?;
        let plan = plan(vec![
            ("fc1.weight", w1),
            ("fc1.bias", b1),
            ("norm.weight", gain),
            ("norm.bias", shift),
            ("fc2.weight", w2),
            ("fc2.bias", b2),
        ]);
        assert_eq!(plan.missing(&grads), ["fc1.bias", "fc1.weight", "norm.bias", "norm.weight"]);
        let trace = trace(|session, _| plan.record(session, &grads).expect("six rows"));
        let states = trace.rows("gradients", &["key", "state"]);
        assert_eq!(
            states,
            [
                "fc1.bias missing",
                "fc1.weight missing",
                "fc2.bias present",
                "fc2.weight present",
                "norm.bias missing",
                "norm.weight missing",
            ]
        );
        Ok(())
    }
}
