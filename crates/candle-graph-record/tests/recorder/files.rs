//! The files of an ended trace: which there are, and what their metadata says.

use std::fs::File;

use candle_graph_record::{GradientState, SpanKind, TraceSession, tables};
use parquet::file::reader::{FileReader, SerializedFileReader};

use crate::world::{Table, Trace, checkpoint, dir, interval, memory, names, op, run, session, tensor};

/// One row in each table.
fn record_everything(session: &TraceSession) {
    let root = session.root();
    drop(session.begin_span("s", SpanKind::Function));
    session.record_op(root, op()).unwrap();
    session.record_tensor(root, tensor()).unwrap();
    session.record_scalar(root, "loss", 1.0).unwrap();
    session.record_memory_alloc(root, memory()).unwrap();
    session.record_device_memory(checkpoint()).unwrap();
    session.record_device_interval(root, interval()).unwrap();
    session.record_data_edge("a", "b").unwrap();
    session.record_gradient("model", "w", GradientState::Missing, None).unwrap();
}

#[test]
fn an_ended_trace_holds_one_file_per_table_and_nothing_else() {
    let dir = dir();
    let session = session(&dir);
    record_everything(&session);
    // A second cut: tables of several parts are merged, the others moved.
    session.flush().unwrap();
    session.record_op(session.root(), op()).unwrap();
    let path = session.finish().unwrap();
    assert_eq!(names(&path), ["run.parquet", "tables"]);
    let mut expected: Vec<String> = tables::events().iter().map(|t| format!("{}.parquet", t.name)).collect();
    expected.sort();
    assert_eq!(names(&path.join("tables")), expected);
    let trace = Trace::read(&path);
    for table in tables::events() {
        let rows = if matches!(table.name, "ops" | "spans") { 2 } else { 1 };
        assert_eq!(trace.some(table.name).len(), rows, "{}", table.name);
    }
}

#[test]
fn a_table_without_rows_has_no_file() {
    let dir = dir();
    let path = session(&dir).finish().unwrap();
    assert_eq!(names(&path.join("tables")), ["spans.parquet"]);
}

#[test]
fn every_file_says_its_schema_its_run_and_the_unit_of_each_column() {
    let dir = dir();
    let session = session(&dir);
    record_everything(&session);
    // So that one table goes through the merge.
    session.flush().unwrap();
    session.record_op(session.root(), op()).unwrap();
    let run_id = session.run_id().to_owned();
    let path = session.finish().unwrap();
    for table in tables::all() {
        let file = if table.name == "run" {
            path.join("run.parquet")
        } else {
            path.join("tables").join(format!("{}.parquet", table.name))
        };
        let reader = SerializedFileReader::new(File::open(&file).unwrap()).unwrap();
        let metadata = reader.metadata().file_metadata();
        let pairs = metadata.key_value_metadata().unwrap();
        let value = |key: &str| {
            let found: Vec<_> = pairs.iter().filter(|p| p.key == key).collect();
            assert_eq!(found.len(), 1, "{key} in {}", file.display());
            found[0].value.as_deref().unwrap()
        };
        assert_eq!(value("candle_graph.schema"), "candle-graph/tables/1");
        assert_eq!(value("candle_graph.table"), table.name);
        assert_eq!(value("candle_graph.run_id"), run_id);
        for column in &table.columns {
            assert_eq!(value(&format!("unit.{}", column.name)), column.unit.as_str());
        }
        assert!(metadata.created_by().unwrap().starts_with("candle-graph "));
        // The schema that a reader sees is the table's, names, types, nullability and units.
        let read = Table::read(&file).0;
        assert_eq!(read.schema().fields(), table.schema(Some(&run_id)).fields(), "{}", table.name);
    }
}

#[test]
fn every_row_carries_the_run_id() {
    let dir = dir();
    let session = session(&dir);
    record_everything(&session);
    let run_id = session.run_id().to_owned();
    let trace = Trace::read(session.finish().unwrap());
    for table in tables::events() {
        let read = trace.some(table.name);
        assert_eq!(read.texts("run_id"), vec![Some(run_id.as_str()); read.len()]);
    }
}

/// No encoding and no type that a plain Parquet reader lacks.
#[test]
fn files_use_what_every_reader_knows() {
    use parquet::basic::{Compression, Encoding};
    let dir = dir();
    let session = session(&dir);
    // Files of a handful of rows are not compressed.
    for _ in 0..100 {
        record_everything(&session);
    }
    let path = session.finish().unwrap();
    for name in names(&path.join("tables")) {
        let reader = SerializedFileReader::new(File::open(path.join("tables").join(&name)).unwrap()).unwrap();
        for column in reader.metadata().row_groups().iter().flat_map(|g| g.columns()) {
            assert!(matches!(column.compression(), Compression::ZSTD(_)), "{name}");
            assert!(
                column.statistics().is_some() || column.column_path().parts().len() > 1,
                "{name} {}",
                column.column_path()
            );
            for encoding in column.encodings() {
                assert!(
                    matches!(
                        encoding,
                        Encoding::PLAIN | Encoding::RLE | Encoding::RLE_DICTIONARY | Encoding::PLAIN_DICTIONARY
                    ),
                    "{name} {} {encoding:?}",
                    column.column_path()
                );
            }
        }
    }
}

#[test]
fn sessions_of_one_process_and_one_run_declaration_are_two_traces() {
    let dir = dir();
    let declared = run();
    let a = TraceSession::open(dir.path().join("a"), declared).unwrap();
    let b = TraceSession::open(dir.path().join("b"), run()).unwrap();
    assert_ne!(a.run_id(), b.run_id());
    a.finish().unwrap();
    b.finish().unwrap();
}
