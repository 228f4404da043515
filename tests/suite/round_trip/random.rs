//! Random traces as tables: any cell that its column may hold, in any number and order.
//! In: proptest's choices. Out: a run record, and rows waiting for their numbers.

use candle_graph::table::{Row, Table, TableBuilder};
use candle_graph::{
    CaptureContract, ComparisonIdentity, CoverageLevel, DTYPES, ExecutionPhase, ExpectedGradient, FamilyExpectation,
    GradientContract, GradientFamilyContract, GradientState, Host, MeasurementScope, MemoryCategory, Outcome, SpanKind,
    TimingMode,
};
use candle_graph_record::tables::device_intervals::{DEVICE_INTERVALS, DeviceIntervalRow};
use candle_graph_record::tables::device_memory::{DEVICE_MEMORY, DeviceMemoryRow};
use candle_graph_record::tables::edges::{EDGES, EdgeRow};
use candle_graph_record::tables::gradients::{GRADIENTS, GradientRow};
use candle_graph_record::tables::memory::{MEMORY, MemoryRow};
use candle_graph_record::tables::ops::{OPS, OpRow};
use candle_graph_record::tables::run::RunRecord;
use candle_graph_record::tables::spans::{SPANS, SpanRow};
use candle_graph_record::tables::tensor_stats::{TENSOR_STATS, TensorStatRow};
use candle_graph_record::tables::tensors::{TENSORS, TensorRow};
use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::Config;

use super::Rows;

// What cells hold: mostly small, now and then the ends of their ranges.

fn count() -> BoxedStrategy<i64> {
    prop_oneof![8 => 0..1000_i64, 1 => Just(0), 1 => Just(i64::MAX), 1 => 0..i64::MAX].boxed()
}

pub(super) fn signed() -> BoxedStrategy<i64> {
    prop_oneof![4 => -3..1000_i64, 1 => any::<i64>(), 1 => Just(i64::MIN), 1 => Just(i64::MAX)].boxed()
}

/// A span, often one that others name.
fn id() -> BoxedStrategy<i64> {
    prop_oneof![8 => 0..6_i64, 2 => -3..0_i64, 1 => signed()].boxed()
}

fn text() -> BoxedStrategy<String> {
    let odd = select(vec!["", "a", "\"\\/", "\u{0}\n\r\t\u{1f}\u{7f}", "\u{2028}\u{feff}ü日本🦀", "s1", "null", " "]);
    prop_oneof![
        odd.prop_map(str::to_owned),
        vec(any::<char>(), 0..6).prop_map(String::from_iter),
        (0..4_u8).prop_map(|n| format!("layer.{n}")),
    ]
    .boxed()
}

fn float() -> BoxedStrategy<f64> {
    let odd = select(vec![
        0.0,
        -0.0,
        f64::NAN,
        -f64::NAN,
        f64::INFINITY,
        f64::NEG_INFINITY,
        f64::MIN_POSITIVE / 3.0,
        5e-324,
        f64::MAX,
        0.1,
        1e300,
    ]);
    prop_oneof![odd, any::<u64>().prop_map(f64::from_bits), -2.0..2.0].boxed()
}

fn maybe<T: Clone + std::fmt::Debug + 'static>(value: BoxedStrategy<T>) -> BoxedStrategy<Option<T>> {
    proptest::option::of(value).boxed()
}

fn dtype() -> BoxedStrategy<&'static str> {
    select([&DTYPES[..], &["q4_1", "q8k"]].concat()).boxed()
}

fn shape() -> BoxedStrategy<Vec<i64>> {
    vec(count(), 0..4).boxed()
}

fn category() -> BoxedStrategy<&'static str> {
    select(MemoryCategory::ALL).prop_map(MemoryCategory::as_str).boxed()
}

pub(super) fn run_record() -> BoxedStrategy<RunRecord> {
    let level = || select(CoverageLevel::ALL);
    let texts = || vec(text(), 0..3);
    let big = || (0..i64::MAX as u64).boxed();
    let manifest =
        (vec((text(), text(), text()), 0..3), vec((text(), select(FamilyExpectation::ALL), big()), 0..3), text())
            .prop_map(|(expected, families, digest)| {
                let expected = expected.into_iter().map(|(r, k, f)| ExpectedGradient::new(r, k, f)).collect();
                let rule =
                    |(family, expectation, min_present)| GradientFamilyContract { family, expectation, min_present };
                GradientContract::unchecked(expected, families.into_iter().map(rule).collect(), Some(digest))
            });
    let contract = (
        select(MeasurementScope::ALL),
        (level(), level(), level(), level(), level(), level(), level()),
        (texts(), texts(), texts()),
        maybe(manifest.boxed()),
    )
        .prop_map(|(measurement_scope, levels, labels, gradient_contract)| CaptureContract {
            measurement_scope,
            operations: levels.0,
            activations: levels.1,
            tensors: levels.2,
            gradients: levels.3,
            gradient_contract,
            logical_memory: levels.4,
            physical_memory: levels.5,
            device_timing: levels.6,
            required_semantic_labels: labels.0,
            gpu_expected_semantic_labels: labels.1,
            cpu_only_semantic_labels: labels.2,
        });
    let identity = (maybe(text()), maybe(text()), vec(text(), 7), big(), big()).prop_map(
        |(implementation_id, pair_id, texts, physical_batch, accumulation_steps)| {
            let mut texts = texts.into_iter();
            let mut next = || texts.next().expect("seven texts");
            ComparisonIdentity {
                implementation_id,
                workload_id: next(),
                model_id: next(),
                config_id: next(),
                data_id: next(),
                seed_policy: next(),
                physical_batch,
                accumulation_steps,
                precision: next(),
                device_state: next(),
                pair_id,
            }
        },
    );
    let host = (vec(maybe(text()), 7), maybe(big())).prop_map(|(texts, logical_cores)| {
        let mut texts = texts.into_iter().flatten().map(Some).chain(std::iter::repeat(None));
        let mut next = || texts.next().flatten();
        Host {
            os: next(),
            host_name: next(),
            cpu_model: next(),
            logical_cores,
            toolchain: next(),
            build_profile: next(),
            candle_version: next(),
            git_revision: next(),
        }
    });
    let end = (select(Outcome::ALL), maybe(text()), maybe(count()), signed(), maybe(text()));
    let moment = prop_oneof![any::<i64>(), 0..4_000_000_000_000_000_i64, Just(1_767_323_045_000_001)];
    (
        vec(text(), 4),
        (select(ExecutionPhase::ALL), select(TimingMode::ALL), any::<bool>()),
        (moment, count(), count()),
        (contract, maybe(identity.boxed()), btree_map(text(), text(), 0..3), host),
        end,
    )
        .prop_map(|(texts, modes, (started_at_us, capture_step, warmup_steps), facts, end)| RunRecord {
            run_id: texts[0].clone(),
            correlation_id: texts[1].clone(),
            entrypoint: texts[2].clone(),
            phase: modes.0,
            started_at_us,
            capture_step,
            warmup_steps,
            device: texts[3].clone(),
            measured_region_device_synchronized: modes.2,
            timing_mode: modes.1,
            contract: facts.0,
            identity: facts.1,
            tags: facts.2,
            outcome: end.0,
            reason: end.1,
            ended_ns: end.2,
            events_lost: end.3,
            candle_graph_version: end.4,
            host: facts.3,
        })
        .boxed()
}

type Fill = std::sync::Arc<dyn Fn(&mut Rows, &[i64]) + Send + Sync>;

/// Up to seven rows of a table, waiting for their numbers.
#[derive(Clone)]
pub(super) struct Filling(usize, Fill);

impl std::fmt::Debug for Filling {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} rows", self.0)
    }
}

/// Rows of one table: `push` puts one into its builder.
fn some<R: Row + 'static, T: Clone + std::fmt::Debug + Send + Sync + 'static>(
    table: &'static Table<R>,
    row: impl Strategy<Value = T> + 'static,
    push: impl Fn(&mut TableBuilder<R>, i64, &T) + Send + Sync + Clone + 'static,
) -> BoxedStrategy<Filling> {
    vec(row, 0..7)
        .prop_map(move |rows| {
            let push = push.clone();
            let fill = move |out: &mut Rows, seqs: &[i64]| {
                out.add(table, |b| rows.iter().zip(seqs).for_each(|(row, seq)| push(b, *seq, row)));
            };
            // The closure has taken the rows, so their number is counted by what it pushes.
            Filling(7, std::sync::Arc::new(fill))
        })
        .boxed()
}

pub(super) fn spans(closed: BoxedStrategy<bool>) -> BoxedStrategy<Filling> {
    let row = (
        (id(), maybe(id()), text(), select(SpanKind::ALL)),
        (select(vec![None, Some("forward"), Some("backward"), Some("optimizer")]), any::<bool>(), signed()),
        (count(), count(), closed, maybe(signed())),
    );
    some(&SPANS, row, |b, seq, (a, c, d)| {
        b.push(
            seq,
            &SpanRow {
                span_id: a.0,
                parent_id: a.1,
                name: &a.2,
                kind: a.3.as_str(),
                step: c.0,
                measured: c.1,
                thread_id: c.2,
                start_ns: d.0,
                duration_ns: d.2.then_some(d.1),
                // A span that never closed has no CPU time: nothing measured it.
                cpu_ns: d.3.filter(|_| d.2),
            },
        );
    })
}

pub(super) fn facts() -> BoxedStrategy<Vec<Filling>> {
    let ops = some(
        &OPS,
        (
            (id(), count(), text(), vec(text(), 0..4), maybe(text()), shape(), dtype(), text()),
            (count(), count(), maybe(signed()), maybe(signed()), maybe(count()), count()),
        ),
        |b, seq, (a, c)| {
            b.push(
                seq,
                &OpRow {
                    span_id: a.0,
                    op_index: a.1,
                    name: &a.2,
                    inputs: &a.3,
                    output: a.4.as_deref(),
                    shape: &a.5,
                    dtype: a.6,
                    device: &a.7,
                    timestamp_ns: c.0,
                    duration_ns: c.1,
                    cpu_ns: c.2,
                    thread_id: c.3,
                    output_dense_bytes: c.4,
                    input_dense_bytes: c.5,
                },
            );
        },
    );
    let tensors = some(
        &TENSORS,
        (
            (id(), text(), maybe(text()), maybe(text()), shape()),
            (dtype(), text(), any::<bool>(), maybe(count()), category()),
        ),
        |b, seq, (a, c)| {
            b.push(
                seq,
                &TensorRow {
                    span_id: a.0,
                    tensor_id: &a.1,
                    storage_id: a.2.as_deref(),
                    label: a.3.as_deref(),
                    shape: &a.4,
                    dtype: c.0,
                    device: &c.1,
                    requires_grad: c.2,
                    dense_bytes: c.3,
                    category: c.4,
                },
            );
        },
    );
    // Counts that agree: the parts add up to what is not finite, or one of them is unknown.
    let counts = (0..3_i64, 0..3_i64, 0..3_i64, 0..3_i64, 0..4_usize).prop_map(|(nan, pos, neg, finite, unknown)| {
        let non_finite = nan + pos + neg;
        let part = |index, value| (unknown != index).then_some(value);
        (finite + non_finite, non_finite, part(0, nan), part(1, pos), part(2, neg))
    });
    let stats = some(
        &TENSOR_STATS,
        (id(), text(), shape(), dtype(), counts, vec(maybe(float()), 6)),
        |b, seq, (span_id, label, shape, dtype, counts, floats)| {
            b.push(
                seq,
                &TensorStatRow {
                    span_id: *span_id,
                    label,
                    shape,
                    dtype,
                    elements: counts.0,
                    non_finite: counts.1,
                    nan: counts.2,
                    pos_inf: counts.3,
                    neg_inf: counts.4,
                    rms: floats[0],
                    abs_max: floats[1],
                    mean: floats[2],
                    finite_rms: floats[3],
                    finite_abs_max: floats[4],
                    finite_mean: floats[5],
                },
            );
        },
    );
    let gradients = some(
        &GRADIENTS,
        (text(), text(), text(), select(GradientState::ALL), maybe(float())),
        |b, seq, (event_id, root, key, state, norm)| {
            b.push(seq, &GradientRow { event_id, root, key, state: state.as_str(), norm: *norm });
        },
    );
    let memory = some(
        &MEMORY,
        (
            (count(), select(vec!["alloc", "free", "end_unobserved"]), select(vec!["A", "A#2", "B", ""]), text(), id()),
            (maybe(text()), text(), count(), shape(), dtype(), category()),
        ),
        |b, seq, (a, c)| {
            b.push(
                seq,
                &MemoryRow {
                    timestamp_ns: a.0,
                    action: a.1,
                    storage_id: a.2,
                    tensor_id: &a.3,
                    span_id: a.4,
                    op_name: c.0.as_deref(),
                    device: &c.1,
                    bytes: c.2,
                    shape: &c.3,
                    dtype: c.4,
                    category: c.5,
                },
            );
        },
    );
    let device_memory = some(
        &DEVICE_MEMORY,
        (count(), text(), maybe(count()), maybe(count()), maybe(count()), maybe(count())),
        |b, seq, (timestamp_ns, device, used, free, reserved, capacity)| {
            b.push(
                seq,
                &DeviceMemoryRow {
                    timestamp_ns: *timestamp_ns,
                    device,
                    used_bytes: *used,
                    free_bytes: *free,
                    reserved_bytes: *reserved,
                    capacity_bytes: *capacity,
                },
            );
        },
    );
    let intervals = some(
        &DEVICE_INTERVALS,
        (id(), text(), text(), text(), text(), count(), count()),
        |b, seq, (span_id, device, stream_id, clock_id, backend, start_ns, duration_ns)| {
            b.push(
                seq,
                &DeviceIntervalRow {
                    span_id: *span_id,
                    device,
                    stream_id,
                    clock_id,
                    backend,
                    start_ns: *start_ns,
                    duration_ns: *duration_ns,
                },
            );
        },
    );
    let edges = some(
        &EDGES,
        (select(vec!["call", "data"]), maybe(id()), maybe(id()), maybe(count()), maybe(text()), maybe(text())),
        |b, seq, (kind, from_span, to_span, host_duration_ns, from_tensor, to_tensor)| {
            b.push(
                seq,
                &EdgeRow {
                    kind,
                    from_span: *from_span,
                    to_span: *to_span,
                    host_duration_ns: *host_duration_ns,
                    from_tensor: from_tensor.as_deref(),
                    to_tensor: to_tensor.as_deref(),
                },
            );
        },
    );
    (ops, tensors, stats, gradients, memory, device_memory, intervals, edges)
        .prop_map(|t| vec![t.0, t.1, t.2, t.3, t.4, t.5, t.6, t.7])
        .boxed()
}

/// Numbers for seven rows of nine tables: rising across the trace, mostly without a gap, shuffled over the tables.
pub(super) fn rising() -> BoxedStrategy<Vec<Vec<i64>>> {
    let gap = prop_oneof![6 => Just(1_i64), 1 => 2..1000_i64];
    vec((gap, 0..9_usize), 63..150)
        .prop_map(|steps| {
            let mut of_table = vec![Vec::new(); 9];
            let mut seq = -1;
            for (gap, table) in steps {
                seq += gap;
                of_table[table].push(seq);
            }
            for table in &mut of_table {
                while table.len() < 7 {
                    seq += 1;
                    table.push(seq);
                }
            }
            of_table
        })
        .boxed()
}

pub(super) fn rows(run: RunRecord, spans: &Filling, facts: &[Filling], seqs: &[Vec<i64>]) -> Rows {
    let mut rows = Rows::new(run);
    for (Filling(_, fill), seqs) in std::iter::once(spans).chain(facts).zip(seqs) {
        fill(&mut rows, seqs);
    }
    rows
}

pub(super) fn config(cases: u32) -> Config {
    Config { cases, failure_persistence: None, ..Config::default() }
}
