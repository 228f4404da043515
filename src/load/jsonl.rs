//! JSON lines, plain, `.gz`, `.zst` or from standard input, streamed into Parquet files in a scratch directory.
//! In: lines. Out: a [`Trace`] like any other. Left to neighbours: what a line becomes
//! (`import`), its shape (`wire`).
//!
//! Memory is bounded by one line, one row group and the spans that are open. Nothing is guessed: the first line that
//! cannot be read is named, unless `salvage` asks for what precedes it.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use candle_graph_record::jsonl::MAX_LINE;

use super::import::{Import, Problem};
use super::{Options, Trace};
use crate::error::{Error, Result};

pub(super) fn read_stdin(options: Options) -> Result<Trace> {
    let path = Path::new("-");
    read(path, Box::new(std::io::stdin().lock()), options)
}

pub(super) fn read_file(path: &Path, options: Options) -> Result<Trace> {
    let file = File::open(path).map_err(Error::io("open", path))?;
    read(path, Box::new(BufReader::with_capacity(1 << 20, file)), options)
}

/// Recognises compression by its first bytes, so a pipe works like a file.
fn read(path: &Path, mut raw: Box<dyn BufRead + '_>, options: Options) -> Result<Trace> {
    let head = raw.fill_buf().map_err(Error::io("read", path))?;
    if head.is_empty() {
        return Err(Error::input(path, "is empty; a trace begins with a meta line"));
    }
    if head.starts_with(&[0x1f, 0x8b]) {
        let unpacked = BufReader::with_capacity(1 << 20, flate2::bufread::MultiGzDecoder::new(raw));
        return import(path, unpacked, options);
    }
    if head.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]) {
        let decoder = zstd::Decoder::with_buffer(raw).map_err(Error::io("read", path))?;
        return import(path, BufReader::with_capacity(1 << 20, decoder), options);
    }
    if head.starts_with(b"PAR1") {
        return Err(Error::input(
            path,
            "is one Parquet table; give the trace directory that holds it, or query it with DuckDB, polars or pandas",
        ));
    }
    import(path, raw, options)
}

/// Reads line after line, and says how the lines end.
fn import(path: &Path, mut input: impl BufRead, options: Options) -> Result<Trace> {
    let mut import = Import::new(path)?;
    let mut line = Vec::new();
    let mut number = 0_u64;
    let cut = loop {
        line.clear();
        number += 1;
        let read = (&mut input).take(MAX_LINE + 1).read_until(b'\n', &mut line);
        let problem = match read {
            Ok(0) => break None,
            Ok(_) if line.len() as u64 > MAX_LINE => "is longer than 64 MiB; this is no trace".to_owned(),
            Ok(_) if line.last() != Some(&b'\n') && !is_whole(&line) => {
                "is cut off in its middle; the trace was truncated".to_owned()
            }
            Ok(_) => match import.line(line.trim_ascii()) {
                Ok(()) => continue,
                Err(Problem::Line(problem)) => problem,
                Err(Problem::Other(error)) => return Err(error),
            },
            Err(source) => format!("cannot be read ({source})"),
        };
        // Without a run there is nothing to salvage.
        if options.salvage && import.has_run() {
            break Some(format!("salvaged up to line {}: line {number} {problem}", number - 1));
        }
        let hint = if import.has_run() { "; `--salvage` reads what precedes it" } else { "" };
        return Err(Error::Line { path: path.to_owned(), line: number, problem: format!("{problem}{hint}") });
    };
    if !import.has_run() {
        return Err(Error::input(path, "holds no line; a trace begins with a meta line"));
    }
    if !import.has_ended() {
        if cut.is_none() && !options.salvage {
            let problem = "the trace ends without a terminal line: it was cut off, or is still being written; \
                           `--salvage` reads what is there"
                .to_owned();
            return Err(Error::Line { path: path.to_owned(), line: number - 1, problem });
        }
        import.interrupt(cut.unwrap_or_else(|| "salvaged: the trace has no terminal line".to_owned()));
    }
    import.finish()
}

/// Whether a line without a line feed is still one whole JSON value: a last line may lack it.
fn is_whole(line: &[u8]) -> bool {
    serde_json::from_slice::<serde::de::IgnoredAny>(line).is_ok()
}
