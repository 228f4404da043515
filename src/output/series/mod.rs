//! `candle-graph/series/1`: what many captures of one program recorded, by captured step.
//! In: a campaign's manifest, or bundles. Out: the document: outer wall time, tensor statistics by label, gradients by
//! root/key. Left to neighbours: which captures (`captures`), pictures of it (`panels`, `axis`, `plot`, `page`).

mod captures;
mod page;
mod panels;
mod plot;

use std::collections::BTreeMap;

use candle_graph_record::jsonl::utc_text;
use schemars::JsonSchema;
use serde::Serialize;

use super::columns::Columns;
use super::documents::{TOOL, Tool};
use crate::error::Result;
use crate::load::Trace;
use crate::query::{self, Filter, Page};
use crate::session::{Limits, Session};

pub use captures::Request;
pub use page::render;

/// The document's schema.
pub const SCHEMA: &str = "candle-graph/series/1";

/// What was recorded, by captured step.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Series {
    pub schema: &'static str,
    pub tool: Tool,
    /// Of every capture.
    pub entrypoint: String,
    /// `train` or `infer`, of every capture.
    pub phase: &'static str,
    /// What the captures are ordered by: `capture_step`.
    pub coordinate: &'static str,
    /// Labels are cut to those that begin so; null: all.
    pub label_prefix: Option<String>,
    /// The captures, by step.
    pub inputs: Vec<SeriesInput>,
    /// By step; one for each capture.
    pub outer_wall_time: Vec<WallPoint>,
    /// Points by label. A label that a capture recorded several times has as many points, in order of recording; of a
    /// capture without it there is none.
    pub tensor_stats: BTreeMap<String, Vec<TensorPoint>>,
    /// Points by root/key, as of labels.
    pub gradients: BTreeMap<String, Vec<GradientPoint>>,
}

/// One capture.
#[derive(Debug, Serialize, JsonSchema)]
pub struct SeriesInput {
    pub capture_step: i64,
    pub run_id: String,
    /// The bundle's path as it was opened.
    pub bundle: String,
    /// The bundle's identity, which was verified.
    pub manifest_sha256: String,
    /// RFC 3339, UTC.
    pub started_at: String,
    pub device: String,
    /// `host` or `device_synchronized`: wall times of different modes do not compare.
    pub timing_mode: &'static str,
    /// Why the capture is not structurally valid, so that its wall time is not claimed; null: it is.
    pub invalid_reason: Option<String>,
}

/// Wall time of one capture's measured region.
#[derive(Debug, Serialize, JsonSchema)]
pub struct WallPoint {
    pub capture_step: i64,
    pub run_id: String,
    /// Null for a capture that is not valid.
    pub outer_wall_time_ns: Option<i64>,
}

/// One summary of a tensor, or one scalar.
#[derive(Debug, Serialize, JsonSchema)]
pub struct TensorPoint {
    pub capture_step: i64,
    pub run_id: String,
    /// Root mean square; null when any element is not finite.
    pub rms: Option<f64>,
    /// Largest absolute value; null when any element is not finite.
    pub abs_max: Option<f64>,
    /// Mean, and the value of a scalar; null when any element is not finite.
    pub mean: Option<f64>,
    pub non_finite: i64,
    pub elements: i64,
    /// Null: the trace does not tell the kinds apart.
    pub nan: Option<i64>,
    pub pos_inf: Option<i64>,
    pub neg_inf: Option<i64>,
    /// Of the finite elements.
    pub finite_rms: Option<f64>,
    pub finite_abs_max: Option<f64>,
    pub finite_mean: Option<f64>,
    /// Empty for a scalar.
    pub shape: Vec<i64>,
    pub dtype: String,
}

/// One gradient.
#[derive(Debug, Serialize, JsonSchema)]
pub struct GradientPoint {
    pub capture_step: i64,
    pub run_id: String,
    /// `present`, `zero`, `missing` or `non_finite`.
    pub state: String,
    /// L2 norm; null when missing or not finite.
    pub norm: Option<f64>,
    pub root: String,
    pub key: String,
}

/// `invalid` says of each trace why it is not valid, if it is not.
fn collect(traces: &[Trace], invalid: &[Option<String>], label_prefix: Option<String>) -> Result<Series> {
    let session = Session::open(traces, Limits::default())?;
    let filter = Filter { label: None, label_prefix: label_prefix.clone() };
    let rows = |name: &str, filter: &Filter| query::rows(&session, name, filter, Page::ALL);
    let mut outer_wall_time = Vec::new();
    let claimed =
        |run_id: &str| !traces.iter().zip(invalid).any(|(t, reason)| reason.is_some() && t.run.run_id == run_id);
    for batch in rows("series_wall", &Filter::default())? {
        let row = Columns(&batch);
        outer_wall_time.extend((0..batch.num_rows()).map(|at| WallPoint {
            capture_step: row.int("capture_step", at),
            run_id: row.text("run_id", at),
            outer_wall_time_ns: row.opt_int("outer_wall_time_ns", at).filter(|_| claimed(&row.text("run_id", at))),
        }));
    }
    let mut tensor_stats: BTreeMap<String, Vec<TensorPoint>> = BTreeMap::new();
    for batch in rows("series_tensor_stats", &filter)? {
        let row = Columns(&batch);
        for at in 0..batch.num_rows() {
            tensor_stats.entry(row.text("label", at)).or_default().push(TensorPoint {
                capture_step: row.int("capture_step", at),
                run_id: row.text("run_id", at),
                rms: row.opt_float("rms", at),
                abs_max: row.opt_float("abs_max", at),
                mean: row.opt_float("mean", at),
                non_finite: row.int("non_finite", at),
                elements: row.int("elements", at),
                nan: row.opt_int("nan", at),
                pos_inf: row.opt_int("pos_inf", at),
                neg_inf: row.opt_int("neg_inf", at),
                finite_rms: row.opt_float("finite_rms", at),
                finite_abs_max: row.opt_float("finite_abs_max", at),
                finite_mean: row.opt_float("finite_mean", at),
                shape: row.ints("shape", at),
                dtype: row.text("dtype", at),
            });
        }
    }
    let mut gradients: BTreeMap<String, Vec<GradientPoint>> = BTreeMap::new();
    for batch in rows("series_gradients", &filter)? {
        let row = Columns(&batch);
        for at in 0..batch.num_rows() {
            let (root, key) = (row.text("root", at), row.text("key", at));
            gradients.entry(format!("{root}/{key}")).or_default().push(GradientPoint {
                capture_step: row.int("capture_step", at),
                run_id: row.text("run_id", at),
                state: row.text("state", at),
                norm: row.opt_float("norm", at),
                root,
                key,
            });
        }
    }
    // Two pairs of root and key can share a label: a/b and c, a and b/c.
    gradients.values_mut().for_each(|points| points.sort_by_key(|p| p.capture_step));
    let inputs = traces.iter().zip(invalid).map(|(trace, invalid)| SeriesInput {
        capture_step: trace.run.capture_step,
        run_id: trace.run.run_id.clone(),
        bundle: trace.requested.display().to_string(),
        manifest_sha256: trace.bundle.as_ref().map(|b| b.identity.clone()).unwrap_or_default(),
        started_at: utc_text(trace.run.started_at_us),
        device: trace.run.device.clone(),
        timing_mode: trace.run.timing_mode.as_str(),
        invalid_reason: invalid.as_deref().map(crate::text::shorten),
    });
    Ok(Series {
        schema: SCHEMA,
        tool: TOOL,
        entrypoint: traces.first().map(|t| t.run.entrypoint.clone()).unwrap_or_default(),
        phase: traces.first().map_or("", |t| t.run.phase.as_str()),
        coordinate: "capture_step",
        label_prefix,
        inputs: inputs.collect(),
        outer_wall_time,
        tensor_stats,
        gradients,
    })
}
