//! Facts: each call's row, value by value, and each refusal at the call.

use candle_graph_record::{
    DTYPES, DeviceIntervalRecord, DeviceMemoryRecord, GradientState, MemoryCategory, MemoryRecord, OpRecord, SpanKind,
    TensorRecord, TensorStats, TraceSession, thread_cpu_ns,
};

use crate::world::{Trace, checkpoint, dir, interval, memory, op, refusal, run, session, tensor};

const BEYOND: u64 = i64::MAX as u64 + 1;

/// A call that must be refused.
type Call<'a> = &'a dyn Fn(&TraceSession) -> candle_graph_record::Result<()>;

/// Asserts that each call is refused with its word, that each refusal is counted, and that no row of `table` came of it.
#[track_caller]
fn all_refused(table: &str, calls: &[(&str, Call<'_>)]) {
    let dir = dir();
    let session = session(&dir);
    for (word, call) in calls {
        let message = refusal(call(&session));
        assert!(message.contains(word), "{word:?} is not in: {message}");
        assert!(message.starts_with("record_"), "the call is not named in: {message}");
    }
    let trace = Trace::read(session.finish().unwrap());
    assert!(trace.table(table).is_none());
    assert_eq!(trace.run.events_lost, calls.len() as i64);
}

#[test]
fn an_op_becomes_one_row() {
    let dir = dir();
    let session = session(&dir);
    let span = session.begin_span("s", SpanKind::Function);
    let given = session.elapsed_ns();
    let inputs = ["TensorId(1)".to_owned(), "TensorId(2)".to_owned()];
    session
        .record_op(span.id(), OpRecord { inputs: &inputs, output: Some("TensorId(3)"), timestamp_ns: given, ..op() })
        .unwrap();
    let before = session.elapsed_ns();
    session
        .record_op_with_cpu(
            span.id(),
            OpRecord { op_name: "item", shape: &[], output_dense_bytes: None, dtype: "bf16", device: "cuda:0", ..op() },
            Some(9),
        )
        .unwrap();
    let after = session.elapsed_ns();
    session.record_op(session.root(), OpRecord { shape: &[1, 2, 3, 4, 5, 6, 7, 8, 9], ..op() }).unwrap();
    let id = 2;
    drop(span);
    let ops = Trace::read(session.finish().unwrap()).some("ops");
    assert_eq!(ops.texts("run_id"), [ops.texts("run_id")[0]; 3]);
    assert_eq!(ops.all_ints("seq"), [0, 1, 2]);
    assert_eq!(ops.all_ints("span_id"), [id, id, 1]);
    assert_eq!(ops.all_ints("op_index"), [0, 1, 0], "counted within each span");
    assert_eq!(ops.texts("name"), [Some("matmul"), Some("item"), Some("matmul")]);
    assert_eq!(ops.text_lists("inputs"), [inputs.to_vec(), vec![], vec![]]);
    assert_eq!(ops.texts("output"), [Some("TensorId(3)"), None, None]);
    assert_eq!(ops.int_lists("shape"), [vec![2, 3], vec![], (1..=9).collect()]);
    assert_eq!(ops.texts("dtype"), [Some("f32"), Some("bf16"), Some("f32")]);
    assert_eq!(ops.texts("device"), [Some("cpu"), Some("cuda:0"), Some("cpu")]);
    let timestamps = ops.all_ints("timestamp_ns");
    assert_eq!(timestamps[0], given as i64);
    assert!((before as i64..=after as i64).contains(&timestamps[1]), "0 means now");
    assert_eq!(ops.all_ints("duration_ns"), [5, 5, 5]);
    assert_eq!(ops.ints("cpu_ns"), [None, Some(9), None]);
    assert_eq!(ops.ints("thread_id"), [Some(1); 3]);
    assert_eq!(ops.ints("output_dense_bytes"), [Some(24), None, Some(24)]);
    assert_eq!(ops.all_ints("input_dense_bytes"), [48; 3]);
}

#[test]
fn an_op_that_no_reader_would_take_is_refused() {
    let later = |s: &TraceSession| s.elapsed_ns() + 3_600_000_000_000;
    all_refused(
        "ops",
        &[
            ("op_name", &|s| s.record_op(s.root(), OpRecord { op_name: "", ..op() })),
            ("device", &|s| s.record_op(s.root(), OpRecord { device: "", ..op() })),
            ("dtype", &|s| s.record_op(s.root(), OpRecord { dtype: "", ..op() })),
            ("\"F32\"", &|s| s.record_op(s.root(), OpRecord { dtype: "F32", ..op() })),
            ("shape", &|s| s.record_op(s.root(), OpRecord { shape: &[BEYOND as usize], ..op() })),
            ("shape", &|s| {
                s.record_op(s.root(), OpRecord { shape: &[1, 1, 1, 1, 1, 1, 1, 1, BEYOND as usize], ..op() })
            }),
            ("duration_ns", &|s| s.record_op(s.root(), OpRecord { duration_ns: BEYOND, ..op() })),
            ("output_dense_bytes", &|s| s.record_op(s.root(), OpRecord { output_dense_bytes: Some(BEYOND), ..op() })),
            ("input_dense_bytes", &|s| s.record_op(s.root(), OpRecord { input_dense_bytes: u64::MAX, ..op() })),
            ("timestamp_ns", &|s| s.record_op(s.root(), OpRecord { timestamp_ns: u64::MAX, ..op() })),
            ("after now", &|s| s.record_op(s.root(), OpRecord { timestamp_ns: later(s), ..op() })),
            ("cpu_ns", &|s| s.record_op_with_cpu(s.root(), op(), Some(BEYOND))),
            ("before its span opened", &|s| {
                let before = s.elapsed_ns().max(1);
                while s.elapsed_ns() <= before {}
                let span = s.begin_span("s", SpanKind::Function);
                s.record_op(span.id(), OpRecord { timestamp_ns: before, ..op() })
            }),
            ("closed", &|s| {
                let id = s.begin_span("s", SpanKind::Function).id();
                s.record_op(id, op())
            }),
        ],
    );
}

/// One closed and one foreign span, tried with every call that takes a span.
#[test]
fn a_closed_or_foreign_span_is_refused_by_every_call_that_needs_an_open_one() {
    let dir = dir();
    let session = session(&dir);
    let other = TraceSession::open(dir.path().join("other"), run()).unwrap();
    let closed = session.begin_span("closed", SpanKind::Function).id();
    let mut lost = 0;
    for (span, problem) in [(closed, "already closed"), (other.root(), "another session")] {
        let results = [
            session.record_op(span, op()),
            session.record_tensor(span, tensor()),
            session.record_tensor_with_storage(span, tensor(), "0x1", Some(16)),
            session.record_scalar(span, "loss", 1.0),
            session.record_stats(span, "w", &[1], "f32", &TensorStats { elements: 1, ..TensorStats::default() }),
            session.record_memory_alloc(span, memory()),
            session.record_memory_free(span, memory()),
            session.record_device_interval(span, interval()),
        ];
        for result in results {
            let message = refusal(result);
            assert!(message.contains(problem), "{problem:?} is not in: {message}");
            lost += 1;
        }
    }
    // A call edge may name a closed span, never a foreign one.
    session.record_call_edge(session.root(), closed, 1).unwrap();
    assert!(refusal(session.record_call_edge(other.root(), closed, 1)).contains("another session"));
    assert!(refusal(session.record_call_edge(closed, other.root(), 1)).contains("another session"));
    let trace = Trace::read(session.finish().unwrap());
    assert_eq!(trace.run.events_lost, lost + 2);
    for table in ["ops", "tensors", "tensor_stats", "memory", "device_intervals"] {
        assert!(trace.table(table).is_none(), "{table}");
    }
}

#[test]
fn every_dtype_of_candle_is_known_and_no_other() {
    let dir = dir();
    let session = session(&dir);
    let quantized = ["q4_0", "q8_1", "q2k", "q8k"];
    for dtype in DTYPES.into_iter().chain(quantized) {
        session.record_tensor(session.root(), TensorRecord { dtype, ..tensor() }).unwrap();
    }
    for dtype in ["", "F32", "float32", "f128", "u16", "bool", "q3_0"] {
        assert!(refusal(session.record_tensor(session.root(), TensorRecord { dtype, ..tensor() })).contains("dtype"));
    }
    let tensors = Trace::read(session.finish().unwrap()).some("tensors");
    let expected: Vec<Option<&str>> = DTYPES.into_iter().chain(quantized).map(Some).collect();
    assert_eq!(tensors.texts("dtype"), expected);
}

#[test]
fn a_tensor_becomes_one_row() {
    let dir = dir();
    let session = session(&dir);
    session.record_tensor(session.root(), tensor()).unwrap();
    let parameter = TensorRecord {
        tensor_id: "TensorId(8)",
        label: Some("wte"),
        shape: &[],
        requires_grad: true,
        dense_bytes: None,
        category: MemoryCategory::Parameter,
        ..tensor()
    };
    session.record_tensor_with_storage(session.root(), parameter, "0x10", Some(16)).unwrap();
    // The same storage again, then another of other size at its address.
    session.record_tensor_with_storage(session.root(), parameter, "0x10", Some(16)).unwrap();
    session.record_tensor_with_storage(session.root(), parameter, "0x10", Some(32)).unwrap();
    let tensors = Trace::read(session.finish().unwrap()).some("tensors");
    assert_eq!(tensors.all_ints("span_id"), [1; 4]);
    assert_eq!(tensors.texts("tensor_id")[..2], [Some("TensorId(7)"), Some("TensorId(8)")]);
    assert_eq!(tensors.texts("storage_id"), [None, Some("0x10#1"), Some("0x10#1"), Some("0x10#2")]);
    assert_eq!(tensors.texts("label")[..2], [None, Some("wte")]);
    assert_eq!(tensors.int_lists("shape")[..2], [vec![4], vec![]]);
    assert_eq!(tensors.texts("dtype")[..2], [Some("f32"); 2]);
    assert_eq!(tensors.texts("device")[..2], [Some("cpu"); 2]);
    assert_eq!(tensors.bools("requires_grad")[..2], [false, true]);
    assert_eq!(tensors.ints("dense_bytes")[..2], [Some(16), None]);
    assert_eq!(tensors.texts("category")[..2], [Some("activation"), Some("parameter")]);
    all_refused(
        "tensors",
        &[
            ("tensor_id", &|s| s.record_tensor(s.root(), TensorRecord { tensor_id: "", ..tensor() })),
            ("label", &|s| s.record_tensor(s.root(), TensorRecord { label: Some(""), ..tensor() })),
            ("device", &|s| s.record_tensor(s.root(), TensorRecord { device: "", ..tensor() })),
            ("shape", &|s| s.record_tensor(s.root(), TensorRecord { shape: &[BEYOND as usize], ..tensor() })),
            ("dense_bytes", &|s| s.record_tensor(s.root(), TensorRecord { dense_bytes: Some(BEYOND), ..tensor() })),
            ("storage_id", &|s| s.record_tensor_with_storage(s.root(), tensor(), "", Some(1))),
            ("storage bytes", &|s| s.record_tensor_with_storage(s.root(), tensor(), "0x1", Some(BEYOND))),
        ],
    );
}

#[test]
fn a_scalar_is_stored_as_what_it_is() {
    let dir = dir();
    let session = session(&dir);
    for value in [-2.5, 0.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        session.record_scalar(session.root(), "loss", value).unwrap();
    }
    assert!(refusal(session.record_scalar(session.root(), "", 1.0)).contains("label"));
    let stats = Trace::read(session.finish().unwrap()).some("tensor_stats");
    assert_eq!(stats.texts("label"), [Some("loss"); 5]);
    assert_eq!(stats.int_lists("shape"), vec![Vec::<i64>::new(); 5]);
    assert_eq!(stats.texts("dtype"), [Some("f64"); 5]);
    assert_eq!(stats.all_ints("elements"), [1; 5]);
    assert_eq!(stats.all_ints("non_finite"), [0, 0, 1, 1, 1]);
    assert_eq!(stats.all_ints("nan"), [0, 0, 1, 0, 0]);
    assert_eq!(stats.all_ints("pos_inf"), [0, 0, 0, 1, 0]);
    assert_eq!(stats.all_ints("neg_inf"), [0, 0, 0, 0, 1]);
    for column in ["mean", "finite_mean"] {
        assert_eq!(stats.floats(column), [Some(-2.5), Some(0.0), None, None, None], "{column}");
    }
    for column in ["rms", "abs_max", "finite_rms", "finite_abs_max"] {
        assert_eq!(stats.floats(column), [Some(2.5), Some(0.0), None, None, None], "{column}");
    }
}

#[test]
fn a_summary_must_agree_with_its_counts() {
    let dir = dir();
    let session = session(&dir);
    // [1, -1, NaN, +inf]: the finite part has a summary, the whole has none.
    let mixed = TensorStats {
        elements: 4,
        nan: 1,
        pos_inf: 1,
        finite_rms: Some(1.0),
        finite_abs_max: Some(1.0),
        finite_mean: Some(0.0),
        ..TensorStats::default()
    };
    session.record_stats(session.root(), "x", &[2, 2], "f16", &mixed).unwrap();
    let root = session.root();
    let refused = |stats: TensorStats| refusal(session.record_stats(root, "x", &[2, 2], "f16", &stats));
    assert!(refused(TensorStats { rms: Some(1.0), ..mixed.clone() }).contains("not finite"));
    assert!(refused(TensorStats { elements: 1, ..mixed.clone() }).contains("non_finite"));
    assert!(refused(TensorStats { finite_rms: Some(f64::NAN), ..mixed.clone() }).contains("not finite"));
    assert!(refused(TensorStats { elements: BEYOND, ..mixed.clone() }).contains("elements"));
    assert!(refused(TensorStats { nan: u64::MAX, pos_inf: u64::MAX, ..mixed.clone() }).contains("non_finite"));
    assert!(refusal(session.record_stats(root, "x", &[1], "f1", &mixed)).contains("dtype"));
    let stats = Trace::read(session.finish().unwrap()).some("tensor_stats");
    assert_eq!((stats.all_ints("elements"), stats.all_ints("non_finite")), (vec![4], vec![2]));
    assert_eq!((stats.floats("rms"), stats.floats("finite_rms")), (vec![None], vec![Some(1.0)]));
    assert_eq!(stats.int_lists("shape"), [[2, 2]]);
}

#[test]
fn an_address_has_many_lifetimes() {
    let dir = dir();
    let session = session(&dir);
    let root = session.root();
    let at = session.elapsed_ns().max(1);
    session.record_memory_alloc(root, MemoryRecord { timestamp_ns: Some(at), ..memory() }).unwrap();
    session.record_memory_free(root, MemoryRecord { op_name: None, ..memory() }).unwrap();
    // The address again: another storage. It is still live when a third one appears there.
    session.record_memory_alloc(root, MemoryRecord { tensor_id: "TensorId(8)", ..memory() }).unwrap();
    let third =
        MemoryRecord { tensor_id: "TensorId(9)", bytes: 32, shape: &[8], category: MemoryCategory::Other, ..memory() };
    session.record_memory_alloc(root, third).unwrap();
    session.record_memory_free(root, third).unwrap();
    let memory = Trace::read(session.finish().unwrap()).some("memory");
    assert_eq!(memory.texts("action"), ["alloc", "free", "alloc", "end_unobserved", "alloc", "free"].map(Some));
    assert_eq!(memory.texts("storage_id"), ["0x10#1", "0x10#1", "0x10#2", "0x10#2", "0x10#3", "0x10#3"].map(Some));
    let tensors = ["(7)", "(7)", "(8)", "(8)", "(9)", "(9)"].map(|n| format!("TensorId{n}"));
    assert_eq!(memory.texts("tensor_id"), tensors.each_ref().map(|t| Some(t.as_str())));
    assert_eq!(memory.all_ints("bytes"), [16, 16, 16, 16, 32, 32]);
    assert_eq!(memory.int_lists("shape"), [[4], [4], [4], [4], [8], [8]]);
    assert_eq!(
        memory.texts("op_name"),
        [Some("matmul"), None, Some("matmul"), Some("matmul"), Some("matmul"), Some("matmul")]
    );
    assert_eq!(memory.texts("category")[3..], ["activation", "other", "other"].map(Some));
    assert_eq!(memory.all_ints("span_id"), [1; 6]);
    assert_eq!(memory.texts("device"), [Some("cpu"); 6]);
    assert_eq!(memory.texts("dtype"), [Some("f32"); 6]);
    let times = memory.all_ints("timestamp_ns");
    assert_eq!(times[0], at as i64);
    assert!(times.is_sorted(), "{times:?}");
}

#[test]
fn a_capture_of_another_storage_ends_the_allocated_one() {
    let dir = dir();
    let session = session(&dir);
    let root = session.root();
    session.record_memory_alloc(root, memory()).unwrap();
    // Seen as allocated, then the same address on another device.
    session.record_tensor_with_storage(root, tensor(), "0x10", Some(16)).unwrap();
    session.record_tensor_with_storage(root, TensorRecord { device: "cuda:0", ..tensor() }, "0x10", Some(16)).unwrap();
    // The captured storage was never allocated here: its free pairs with nothing.
    assert!(
        refusal(session.record_memory_free(root, MemoryRecord { device: "cuda:0", ..memory() })).contains("storage_id")
    );
    let trace = Trace::read(session.finish().unwrap());
    assert_eq!(trace.some("tensors").texts("storage_id"), [Some("0x10#1"), Some("0x10#2")]);
    let memory = trace.some("memory");
    assert_eq!(memory.texts("action"), [Some("alloc"), Some("end_unobserved")]);
    assert_eq!(memory.texts("storage_id"), [Some("0x10#1"); 2]);
}

#[test]
fn memory_that_no_reader_would_take_is_refused() {
    all_refused(
        "memory",
        &[
            ("storage_id", &|s| s.record_memory_alloc(s.root(), MemoryRecord { storage_id: "", ..memory() })),
            ("tensor_id", &|s| s.record_memory_alloc(s.root(), MemoryRecord { tensor_id: "", ..memory() })),
            ("device", &|s| s.record_memory_alloc(s.root(), MemoryRecord { device: "", ..memory() })),
            ("dtype", &|s| s.record_memory_alloc(s.root(), MemoryRecord { dtype: "int", ..memory() })),
            ("bytes", &|s| s.record_memory_alloc(s.root(), MemoryRecord { bytes: BEYOND, ..memory() })),
            ("shape", &|s| s.record_memory_alloc(s.root(), MemoryRecord { shape: &[usize::MAX], ..memory() })),
            ("timestamp_ns", &|s| {
                s.record_memory_alloc(s.root(), MemoryRecord { timestamp_ns: Some(BEYOND), ..memory() })
            }),
            ("after now", &|s| {
                let later = s.elapsed_ns() + 3_600_000_000_000;
                s.record_memory_alloc(s.root(), MemoryRecord { timestamp_ns: Some(later), ..memory() })
            }),
            ("before its span", &|s| {
                let before = s.elapsed_ns();
                while s.elapsed_ns() <= before {}
                let span = s.begin_span("s", SpanKind::Function);
                s.record_memory_alloc(span.id(), MemoryRecord { timestamp_ns: Some(before), ..memory() })
            }),
            ("no recorded allocation", &|s| s.record_memory_free(s.root(), memory())),
        ],
    );
}

#[test]
fn a_free_must_match_its_allocation() {
    let dir = dir();
    let session = session(&dir);
    let root = session.root();
    session.record_memory_alloc(root, memory()).unwrap();
    assert!(
        refusal(session.record_memory_free(root, MemoryRecord { bytes: 17, ..memory() })).contains("16 were allocated")
    );
    assert!(
        refusal(session.record_memory_free(root, MemoryRecord { device: "cuda:0", ..memory() })).contains("\"cpu\"")
    );
    // A refused free ends nothing.
    session.record_memory_free(root, memory()).unwrap();
    assert!(refusal(session.record_memory_free(root, memory())).contains("still live"));
    let trace = Trace::read(session.finish().unwrap());
    assert_eq!(trace.some("memory").texts("action"), [Some("alloc"), Some("free")]);
    assert_eq!(trace.run.events_lost, 3);
}

#[test]
fn a_physical_checkpoint_becomes_one_row() {
    let dir = dir();
    let session = session(&dir);
    let at = session.elapsed_ns();
    session.record_device_memory(DeviceMemoryRecord { timestamp_ns: Some(at), ..checkpoint() }).unwrap();
    let zero = DeviceMemoryRecord {
        used_bytes: None,
        free_bytes: Some(0),
        capacity_bytes: Some(8),
        reserved_bytes: None,
        ..checkpoint()
    };
    session.record_device_memory(zero).unwrap();
    let process = session.record_process_memory().unwrap();
    let rows = Trace::read(session.finish().unwrap()).some("device_memory");
    assert_eq!(rows.all_ints("timestamp_ns")[0], at as i64);
    assert_eq!(rows.ints("used_bytes")[..2], [Some(100), None]);
    assert_eq!(rows.ints("free_bytes")[..2], [None, Some(0)], "0 is a measurement, NULL is none");
    assert_eq!(rows.ints("reserved_bytes")[..2], [Some(200), None]);
    assert_eq!(rows.ints("capacity_bytes")[..2], [None, Some(8)]);
    assert_eq!(process, cfg!(target_os = "linux"));
    if process {
        assert_eq!(rows.texts("device")[2], Some("process"));
        assert!(rows.ints("used_bytes")[2] > Some(0) && rows.ints("reserved_bytes")[2] >= rows.ints("used_bytes")[2]);
    }
    let none = DeviceMemoryRecord { used_bytes: None, reserved_bytes: None, ..checkpoint() };
    all_refused(
        "device_memory",
        &[
            ("device", &|s| s.record_device_memory(DeviceMemoryRecord { device: "", ..checkpoint() })),
            ("all absent", &|s| s.record_device_memory(none)),
            ("used_bytes", &|s| {
                s.record_device_memory(DeviceMemoryRecord { used_bytes: Some(BEYOND), ..checkpoint() })
            }),
            ("free_bytes", &|s| {
                s.record_device_memory(DeviceMemoryRecord { free_bytes: Some(BEYOND), ..checkpoint() })
            }),
            ("reserved_bytes", &|s| {
                s.record_device_memory(DeviceMemoryRecord { reserved_bytes: Some(BEYOND), ..checkpoint() })
            }),
            ("capacity_bytes", &|s| {
                s.record_device_memory(DeviceMemoryRecord { capacity_bytes: Some(BEYOND), ..checkpoint() })
            }),
            ("after now", &|s| {
                let later = s.elapsed_ns() + 3_600_000_000_000;
                s.record_device_memory(DeviceMemoryRecord { timestamp_ns: Some(later), ..checkpoint() })
            }),
        ],
    );
}

#[test]
fn a_device_interval_stays_on_its_own_clock() {
    let dir = dir();
    let session = session(&dir);
    // A device clock may be far ahead of the session's.
    let far = DeviceIntervalRecord { start_ns: i64::MAX as u64 - 20, ..interval() };
    session.record_device_interval(session.root(), interval()).unwrap();
    session.record_device_interval(session.root(), far).unwrap();
    let rows = Trace::read(session.finish().unwrap()).some("device_intervals");
    assert_eq!(rows.all_ints("start_ns"), [1_000, i64::MAX - 20]);
    assert_eq!(rows.all_ints("duration_ns"), [20, 20]);
    assert_eq!(rows.all_ints("span_id"), [1, 1]);
    for (column, text) in [("device", "cuda:0"), ("stream_id", "7"), ("clock_id", "globaltimer"), ("backend", "cuda")] {
        assert_eq!(rows.texts(column), [Some(text); 2]);
    }
    all_refused(
        "device_intervals",
        &[
            ("device", &|s| s.record_device_interval(s.root(), DeviceIntervalRecord { device: "", ..interval() })),
            ("stream_id", &|s| {
                s.record_device_interval(s.root(), DeviceIntervalRecord { stream_id: "", ..interval() })
            }),
            ("clock_id", &|s| s.record_device_interval(s.root(), DeviceIntervalRecord { clock_id: "", ..interval() })),
            ("backend", &|s| s.record_device_interval(s.root(), DeviceIntervalRecord { backend: "", ..interval() })),
            ("duration_ns", &|s| {
                s.record_device_interval(s.root(), DeviceIntervalRecord { duration_ns: 0, ..interval() })
            }),
            ("duration_ns", &|s| {
                s.record_device_interval(s.root(), DeviceIntervalRecord { duration_ns: BEYOND, ..interval() })
            }),
            ("start_ns", &|s| {
                s.record_device_interval(s.root(), DeviceIntervalRecord { start_ns: BEYOND, ..interval() })
            }),
            ("start_ns + duration_ns", &|s| {
                s.record_device_interval(s.root(), DeviceIntervalRecord { duration_ns: 21, ..far })
            }),
        ],
    );
}

#[test]
fn edges_say_what_the_program_said() {
    let dir = dir();
    let session = session(&dir);
    let callee = session.begin_span("callee", SpanKind::Function).id();
    session.record_call_edge(session.root(), callee, 12).unwrap();
    session.record_data_edge("TensorId(1)", "TensorId(2)").unwrap();
    let edges = Trace::read(session.finish().unwrap()).some("edges");
    assert_eq!(edges.texts("kind"), [Some("call"), Some("data")]);
    assert_eq!(edges.ints("from_span"), [Some(1), None]);
    assert_eq!(edges.ints("to_span"), [Some(2), None]);
    assert_eq!(edges.ints("host_duration_ns"), [Some(12), None]);
    assert_eq!(edges.texts("from_tensor"), [None, Some("TensorId(1)")]);
    assert_eq!(edges.texts("to_tensor"), [None, Some("TensorId(2)")]);
    all_refused(
        "edges",
        &[
            ("host_duration_ns", &|s| s.record_call_edge(s.root(), s.root(), BEYOND)),
            ("from_tensor", &|s| s.record_data_edge("", "TensorId(2)")),
            ("to_tensor", &|s| s.record_data_edge("TensorId(1)", "")),
        ],
    );
}

#[test]
fn a_gradients_norm_agrees_with_its_state() {
    use GradientState::{Missing, NonFinite, Present, Zero};
    let dir = dir();
    let session = session(&dir);
    let sound = [
        (Present, Some(0.5)),
        (Present, Some(f64::MIN_POSITIVE)),
        (Present, Some(5e-324)),
        (Zero, Some(0.0)),
        (Missing, None),
        (NonFinite, None),
    ];
    for (state, norm) in sound {
        session.record_gradient("model", "w", state, norm).unwrap();
    }
    let unsound = [
        (Present, None),
        (Present, Some(0.0)),
        (Present, Some(-1.0)),
        (Present, Some(f64::NAN)),
        (Present, Some(f64::INFINITY)),
        (Zero, None),
        (Zero, Some(-0.0)),
        (Zero, Some(1.0)),
        (Missing, Some(0.0)),
        (NonFinite, Some(f64::NAN)),
    ];
    for (state, norm) in unsound {
        assert!(refusal(session.record_gradient("model", "w", state, norm)).contains("norm"), "{state:?} {norm:?}");
    }
    assert!(refusal(session.record_gradient("", "w", Missing, None)).contains("root"));
    assert!(refusal(session.record_gradient("model", "", Missing, None)).contains("key"));
    let trace = Trace::read(session.finish().unwrap());
    assert_eq!(trace.run.events_lost, unsound.len() as i64 + 2);
    let rows = trace.some("gradients");
    assert_eq!(rows.texts("state"), sound.map(|(s, _)| Some(s.as_str())));
    assert_eq!(rows.floats("norm"), sound.map(|(_, n)| n));
    assert_eq!(rows.texts("root"), [Some("model"); 6]);
    assert_eq!(rows.texts("key"), [Some("w"); 6]);
    let mut ids = rows.texts("event_id");
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), 6);
}

#[test]
fn all_tables_share_one_order_of_recording() {
    let dir = dir();
    let session = session(&dir);
    session.record_data_edge("a", "b").unwrap();
    session.record_op(session.root(), op()).unwrap();
    session.record_gradient("m", "w", GradientState::Missing, None).unwrap();
    drop(session.begin_span("s", SpanKind::Function));
    session.record_scalar(session.root(), "l", 1.0).unwrap();
    let trace = Trace::read(session.finish().unwrap());
    let seq = |table: &str| trace.some(table).all_ints("seq");
    assert_eq!((seq("edges"), seq("ops"), seq("gradients"), seq("tensor_stats")), (vec![0], vec![1], vec![2], vec![4]));
    assert_eq!(seq("spans"), [3, 5], "a span is recorded when it closes");
}

#[cfg(unix)]
#[test]
fn the_thread_cpu_clock_advances_with_work() {
    let before = thread_cpu_ns().unwrap();
    let mut x = 1u64;
    while thread_cpu_ns().unwrap() == before {
        x = std::hint::black_box(x.wrapping_mul(3));
    }
    assert!(thread_cpu_ns().unwrap() > before);
}
