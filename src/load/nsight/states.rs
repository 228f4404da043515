//! `nsight_reports`: what became of every supplied file, as rows and back.
//! In: what was imported. Out: a batch, and from batches of a bundle the same again. Left to neighbours: importing.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, Int64Array, ListBuilder, RecordBatch, StringArray, StringBuilder};
use arrow::datatypes::{DataType, Field, Int64Type};

use super::{Imported, ReportState, Retained, State};
use crate::tables::nsight::{REPORTS, states};

/// A row of `nsight_reports`.
struct Line<'a> {
    report: Option<(&'static str, &'static str)>,
    state: &'static str,
    file: Option<&'a str>,
    rows: Option<u64>,
    time_step_ns: Option<i64>,
    reason: Option<&'a str>,
    notes: &'a [String],
}

/// In `nsight_reports`, the state of a file that is kept and not read.
const RETAINED: &str = "retained";

/// Rows of `nsight_reports`.
pub(super) fn to_batch(run_id: &str, imported: &Imported) -> RecordBatch {
    let reports = imported.reports.iter().map(|r| Line {
        report: Some((r.report, r.table)),
        state: r.state.as_str(),
        file: r.file.as_deref(),
        rows: r.rows,
        time_step_ns: r.time_step_ns,
        reason: r.reason.as_deref(),
        notes: &r.notes,
    });
    let retained = imported.retained.iter().map(|r| Line {
        report: None,
        state: RETAINED,
        file: Some(&r.file),
        rows: None,
        time_step_ns: None,
        reason: r.remark.as_deref(),
        notes: &[],
    });
    let lines: Vec<Line<'_>> = reports.chain(retained).collect();
    let text = |get: &dyn Fn(&Line<'_>) -> Option<String>| -> ArrayRef {
        Arc::new(lines.iter().map(get).collect::<StringArray>())
    };
    let mut notes = ListBuilder::new(StringBuilder::new()).with_field(Field::new("item", DataType::Utf8, false));
    lines.iter().for_each(|line| notes.append_value(line.notes.iter().map(Some)));
    let columns: Vec<ArrayRef> = vec![
        text(&|_| Some(run_id.to_owned())),
        text(&|l| l.report.map(|(report, _)| report.to_owned())),
        text(&|l| l.report.map(|(_, table)| table.to_owned())),
        text(&|l| Some(l.state.to_owned())),
        text(&|l| l.file.map(str::to_owned)),
        Arc::new(lines.iter().map(|l| l.rows.and_then(|n| i64::try_from(n).ok())).collect::<Int64Array>()),
        Arc::new(lines.iter().map(|l| l.time_step_ns).collect::<Int64Array>()),
        text(&|l| l.reason.map(str::to_owned)),
        Arc::new(notes.finish()),
    ];
    RecordBatch::try_new(states().schema(Some(run_id)), columns).expect("columns follow tables::nsight::states()")
}

/// What rows of `nsight_reports` tell of.
///
/// # Errors
/// Rows that no importer wrote.
pub(super) fn from_batches(batches: &[RecordBatch]) -> Result<Imported, String> {
    let mut found = Imported { reports: Vec::new(), retained: Vec::new() };
    for batch in batches {
        let text = |name: &str, row: usize| {
            let column = batch[name].as_string::<i32>();
            column.is_valid(row).then(|| column.value(row).to_owned())
        };
        let int = |name: &str, row: usize| {
            let column = batch[name].as_primitive::<Int64Type>();
            column.is_valid(row).then(|| column.value(row))
        };
        for row in 0..batch.num_rows() {
            let (state, file) = (text("state", row).unwrap_or_default(), text("file", row));
            if state == RETAINED {
                let file = file.ok_or("keeps a file without a name")?;
                found.retained.push(Retained { file, remark: text("reason", row) });
                continue;
            }
            let report = text("report", row).and_then(|name| REPORTS.iter().find(|r| r.report == name));
            let report = report.ok_or("names a report that this version does not know")?;
            let state = State::parse(&state).ok_or("has a state that is none")?;
            let notes = batch["notes"].as_list::<i32>().value(row);
            found.reports.push(ReportState {
                file,
                rows: int("rows", row).and_then(|n| u64::try_from(n).ok()),
                time_step_ns: int("time_step_ns", row),
                reason: text("reason", row),
                notes: notes.as_string::<i32>().iter().flatten().map(str::to_owned).collect(),
                ..ReportState::of(report, state)
            });
        }
    }
    if found.reports.iter().map(|r| r.table).ne(REPORTS.iter().map(|r| r.table)) {
        return Err("does not tell of each report once".to_owned());
    }
    Ok(found)
}
