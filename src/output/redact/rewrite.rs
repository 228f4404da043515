//! Tables and files, read to find what is private and rewritten without it.
//! In: Parquet files and text files. Out: what they hold that is private; then their copies without it, row for row and
//! byte for byte but for that. Left to neighbours: what is private (`names`), what replaces it (`replace`).

use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, RecordBatch};
use arrow::datatypes::SchemaRef;
use candle_graph_record::parquet_sink::writer_properties;
use candle_graph_record::table::TableSpec;
use parquet::arrow::ArrowWriter;

use super::columns;
use super::names::Search;
use super::replace::Replacer;
use crate::error::{Error, Result, one_line};
use crate::load::bundle::open_regular;
use crate::load::{Scan, Trace};
use crate::tables;

/// Longest line of a text file: what is private never holds the end of one, so lines are looked at one by one.
const LONGEST_LINE: u64 = 64 << 20;

fn too_much(path: &Path) -> Error {
    Error::input(
        path,
        "holds more names of users, hosts and homes, or texts that look like what stands in their place, than a redaction \
         can keep apart (about 50,000); publish it without --redact, or record it without them",
    )
}

/// Looks through every text of the tables, each table on a thread of its own.
pub(super) fn search_tables(search: &mut Search, trace: &Trace) -> Result<()> {
    let specs = tables::events();
    let found: Vec<Result<Search>> = std::thread::scope(|scope| {
        let specs = specs.iter().filter(|spec| trace.files.contains_key(spec.name));
        let start = |spec| {
            let search = search.beside();
            scope.spawn(move || search_table(search, trace, spec))
        };
        let threads: Vec<_> = specs.map(start).collect();
        threads.into_iter().map(|t| t.join().unwrap_or_else(|_| Err(failed(&trace.requested)))).collect()
    });
    for part in found {
        search.private.add(part?.private);
    }
    // The run record alone may hold too much.
    if search.private.is_too_much() { Err(too_much(&trace.requested)) } else { Ok(()) }
}

fn search_table(mut search: Search, trace: &Trace, spec: &TableSpec) -> Result<Search> {
    let names = columns::of_text(spec);
    let finder = search.finder.clone();
    for batch in trace.scan(spec.name, &names) {
        let batch = batch?;
        for array in names.iter().filter_map(|name| batch.column_by_name(name)) {
            columns::suspects(array, &finder, |_, text| search.text(text));
        }
        if search.private.is_too_much() {
            return Err(too_much(&trace.requested));
        }
    }
    Ok(search)
}

/// A thread that ended without a result: a decoder or an encoder met what it takes for impossible.
fn failed(path: &Path) -> Error {
    Error::input(path, "cannot be redacted: what it holds is no possible Parquet data")
}

/// Looks through a text file and its name.
pub(super) fn search_file(search: &mut Search, path: &Path) -> Result<()> {
    search.text(path.file_name().and_then(|name| name.to_str()).unwrap_or_default());
    lines(path, |line| {
        search.text(line);
        if search.private.is_too_much() { Err(too_much(path)) } else { Ok(()) }
    })
}

/// Rewrites the rows of `files` into one file at `target`, which is whole or absent.
pub(super) fn table(
    replacer: &mut Replacer,
    files: &[PathBuf],
    spec: &TableSpec,
    run_id: &str,
    target: &Path,
) -> Result<()> {
    let written = write_table(replacer, files, spec, run_id, target);
    remove_unless(written, target)
}

fn write_table(
    replacer: &mut Replacer,
    files: &[PathBuf],
    spec: &TableSpec,
    run_id: &str,
    target: &Path,
) -> Result<()> {
    let source = files.first().map_or(target, PathBuf::as_path);
    let problem = |problem: String| Error::Table { path: source.to_owned(), table: spec.name.to_owned(), problem };
    let parquet = |e: parquet::errors::ParquetError| Error::input(target, one_line(&e.to_string()));
    let schema = spec.schema(Some(run_id));
    let file = File::create(target).map_err(Error::io("create", target))?;
    let properties = writer_properties(spec, &schema);
    let mut writer = ArrowWriter::try_new(file, schema.clone(), Some(properties)).map_err(parquet)?;
    let names: Vec<&str> = spec.columns.iter().map(|c| c.name).collect();
    // Encoding takes as long as all that comes before it: it has a thread of its own, two batches behind at most.
    std::thread::scope(|scope| {
        let (batches, encoded) = std::sync::mpsc::sync_channel::<RecordBatch>(2);
        let encoder = scope.spawn(move || {
            encoded.into_iter().try_for_each(|batch| writer.write(&batch))?;
            writer.close().map(drop)
        });
        let read = (|| {
            for batch in Scan::new(files.to_vec(), &names) {
                let batch = public(replacer, &batch?, spec, &schema, run_id).map_err(problem)?;
                if replacer.is_too_much() {
                    return Err(too_much(source));
                }
                if batches.send(batch).is_err() {
                    // The encoder has failed, and says why.
                    break;
                }
            }
            Ok(())
        })();
        drop(batches);
        let encoded = encoder.join().map_or_else(|_| Err(failed(source)), |encoded| encoded.map_err(parquet));
        read.and(encoded)
    })
}

/// A batch without what is private, in the schema of its table.
fn public(
    replacer: &mut Replacer,
    batch: &RecordBatch,
    spec: &TableSpec,
    schema: &SchemaRef,
    run_id: &str,
) -> Result<RecordBatch, String> {
    let (text_columns, finder) = (columns::of_text(spec), replacer.finder.clone());
    let mut arrays: Vec<ArrayRef> = Vec::with_capacity(schema.fields().len());
    for field in schema.fields() {
        let name = field.name();
        let array = batch.column_by_name(name).ok_or_else(|| format!("has no column {name}"))?;
        let mut cells: Vec<(usize, Arc<str>)> = Vec::new();
        if name == "run_id" {
            if !array.as_string_opt::<i32>().is_some_and(|ids| ids.iter().all(|id| id == Some(run_id))) {
                return Err(format!("holds rows of another run than {run_id}; the files were mixed"));
            }
        } else if text_columns.contains(&name.as_str()) {
            columns::suspects(array, &finder, |cell, text| {
                if !columns::stays(spec.name, name, text) {
                    cells.extend(replacer.replace(text).map(|replaced| (cell, replaced)));
                }
            });
        }
        let array = columns::with(array, field.data_type(), &cells);
        arrays.push(array.map_err(|e| format!("column {name}: {}", one_line(&e)))?);
    }
    RecordBatch::try_new(schema.clone(), arrays).map_err(|e| one_line(&e.to_string()))
}

/// Rewrites a text file at `target`, which is whole or absent.
pub(super) fn file(replacer: &mut Replacer, source: &Path, target: &Path) -> Result<()> {
    let written = (|| {
        let mut out = BufWriter::new(File::create(target).map_err(Error::io("create", target))?);
        lines(source, |line| {
            let replaced = if replacer.finder.is_match(line) { replacer.replace(line) } else { None };
            if replacer.is_too_much() {
                return Err(too_much(source));
            }
            out.write_all(replaced.as_deref().unwrap_or(line).as_bytes()).map_err(Error::io("write", target))
        })?;
        out.flush().map_err(Error::io("write", target))
    })();
    remove_unless(written, target)
}

/// What is half-written may hold what was to go: it goes.
fn remove_unless(written: Result<()>, target: &Path) -> Result<()> {
    if written.is_err() {
        // Best effort: the first failure is the one to report.
        let _ = std::fs::remove_file(target);
    }
    written
}

/// Hands over each line of a text file, with its end.
fn lines(path: &Path, mut each: impl FnMut(&str) -> Result<()>) -> Result<()> {
    let mut reader = BufReader::with_capacity(256 * 1024, open_regular(path)?);
    let mut line = Vec::new();
    let mut number = 0_u64;
    loop {
        number += 1;
        line.clear();
        let length =
            reader.by_ref().take(LONGEST_LINE + 1).read_until(b'\n', &mut line).map_err(Error::io("read", path))?;
        if length == 0 {
            return Ok(());
        }
        let refused = |what: &str| {
            Error::input(
                path,
                format!(
                    "line {number} {what}, so nobody can see what is private in this file: leave it out, or publish it \
                     without --redact"
                ),
            )
        };
        if length as u64 > LONGEST_LINE {
            return Err(refused("is longer than 64 MiB"));
        }
        // UTF-16 and most databases are UTF-8 as far as a decoder can tell, and full of zeros.
        match std::str::from_utf8(&line) {
            Ok(text) if !line.contains(&0) => each(text)?,
            _ => return Err(refused("is no UTF-8 text")),
        }
    }
}
