//! What stands before the header of a report: nothing, a byte-order mark, or what `nsys stats` says about its work.
//! In: the beginning of a file. Out: the header and where the rows begin; or that the report is empty, or why it is none.
//! Left to neighbours: what the header means (`header`), the rows (`rows`).

use std::io::BufRead;

use super::header;
use crate::error::one_line;
use crate::tables::nsight::{REPORTS, Report};
use crate::text::shorten;

/// Lines looked through for a header, and bytes of one: `nsys stats` writes three or four.
const LINES: u64 = 64;
const LINE: u64 = 64 << 10;

/// What the beginning of a file is.
#[derive(Debug)]
pub(super) enum Start {
    /// A header, and the number of its line.
    Header { cells: Vec<String>, line: u64 },
    /// A valid report without rows, and why.
    Empty(String),
}

/// The fields of one line of CSV; `None` for bytes that are no text.
pub(super) fn fields(line: &[u8]) -> Option<Vec<String>> {
    let mut reader = csv_core::Reader::new();
    let mut out = vec![0; line.len() + 1];
    let mut ends = vec![0; line.len() + 2];
    let (_, read, written, count) = reader.read_record(line, &mut out, &mut ends);
    let (_, _, more, last) = reader.read_record(&line[read..], &mut out[written..], &mut ends[count..]);
    let (_, _, _, ended) = reader.read_record(&[], &mut out[written + more..], &mut ends[count + last..]);
    let mut begin = 0;
    let mut cells = Vec::new();
    for &end in &ends[..count + last + ended] {
        cells.push(std::str::from_utf8(out.get(begin..end)?).ok()?.to_owned());
        begin = end;
    }
    Some(cells)
}

/// Reads up to and with the header.
pub(super) fn read(input: &mut impl BufRead, report: &Report) -> std::io::Result<Result<Start, String>> {
    let mut first: Option<String> = None;
    let mut skipped = None;
    let mut foreign = None;
    let mut aligned = false;
    let mut widths: Vec<(u64, usize)> = Vec::new();
    for line in 1..=LINES {
        let mut bytes = Vec::new();
        if std::io::Read::take(&mut *input, LINE).read_until(b'\n', &mut bytes)? == 0 {
            break;
        }
        if line == 1 {
            if let Some(problem) = encoding(&bytes) {
                return Ok(Err(problem));
            }
            if bytes.starts_with(b"\xef\xbb\xbf") {
                bytes.drain(..3);
            }
        }
        let text = String::from_utf8_lossy(&bytes).trim().to_owned();
        if text.is_empty() {
            continue;
        }
        if bytes.len() as u64 == LINE && !bytes.ends_with(b"\n") {
            return Ok(Err(format!("line {line}: is longer than {LINE} bytes, as no header is")));
        }
        let cells = fields(&bytes).unwrap_or_default();
        match header::report_of(&cells) {
            Some(found) if std::ptr::eq(found, report) => {
                // In a file that was sorted or joined from others, the header is somewhere.
                return Ok(match widths.iter().find(|(_, width)| *width == cells.len()) {
                    Some((row, _)) => Err(format!("line {row}: stands before the header, which is line {line}")),
                    None => Ok(Start::Header { cells, line }),
                });
            }
            Some(found) => {
                foreign = Some((found, line));
                break;
            }
            // On a line of its own: a name that holds the word must not make a report empty.
            None if text.trim_start_matches(['#', ' ']).starts_with("SKIPPED:") => {
                skipped = skipped.or(Some(text.clone()))
            }
            None => aligned |= is_rule(text.trim_start_matches('#')),
        }
        if !is_chatter(&text) {
            widths.push((line, cells.len()));
        }
        first.get_or_insert(text);
    }
    if let Some((found, line)) = foreign {
        return Ok(Err(format!(
            "line {line}: its header is that of {}, and its name says {}; rename it to what it is",
            found.report, report.report
        )));
    }
    // What follows so many lines without a header was not looked at, so it is not nothing.
    let whole = input.fill_buf()?.is_empty();
    Ok(match (skipped, first) {
        (Some(said), _) if whole && !aligned => {
            Ok(Start::Empty(format!("nsys stats wrote no report: {}", shorten(&one_line(&said)))))
        }
        (_, None) if whole => Ok(Start::Empty("the file is empty".to_owned())),
        (_, first) => {
            let first = first.unwrap_or_default();
            Err(format!("{}; `{}` writes the right file", no_header(&first, aligned, report), report.command()))
        }
    })
}

/// What a file is that has no header of the report.
fn no_header(first: &str, aligned: bool, report: &Report) -> String {
    if aligned || looks_aligned(first) {
        return "is the text that `nsys stats` prints, aligned in columns, and no CSV".to_owned();
    }
    if first.contains('\r') {
        return "has lines that end in a carriage return alone".to_owned();
    }
    if first.contains(';') && !first.contains(',') {
        return "has its fields separated by semicolons, as a spreadsheet of another locale saves them".to_owned();
    }
    format!(
        "has no header of {} (columns {}); it begins with {:?}",
        report.report,
        header::needed(report),
        shorten(first)
    )
}

/// Whether a line is of the text that `nsys stats` prints without `--format csv`.
fn looks_aligned(line: &str) -> bool {
    let line = line.trim_start_matches('#').trim();
    (line.starts_with("** ") && line.ends_with(':')) || is_chatter(line) || is_rule(line)
}

/// Whether a line is what `nsys stats` says about its work.
fn is_chatter(line: &str) -> bool {
    let line = line.trim_start_matches('#').trim();
    ["Generating SQLite", "Processing [", "Using ", "Running ["].iter().any(|said| line.starts_with(said))
}

/// Whether a line is what aligned text has below its header: dashes, a column each.
fn is_rule(line: &str) -> bool {
    let dashes = |part: &str| part.len() > 1 && part.bytes().all(|b| b == b'-');
    line.split_whitespace().count() > 1 && line.split_whitespace().all(dashes)
}

/// Why bytes are not text in the one encoding that `nsys stats` writes.
fn encoding(bytes: &[u8]) -> Option<String> {
    if bytes.starts_with(b"\xff\xfe") || bytes.starts_with(b"\xfe\xff") || bytes.contains(&0) {
        return Some(
            "line 1: is UTF-16 or binary, no UTF-8 text; a shell's redirection can write so: let `nsys stats` write the \
             file with --output"
                .to_owned(),
        );
    }
    None
}

/// What the beginning of a text file looks like whose name says nothing.
#[derive(Debug)]
pub(super) enum Look {
    /// The header of a report.
    Header(&'static Report),
    /// Something worth a remark.
    Remark(String),
    /// Nothing that is known here.
    Other,
}

/// Looks at the beginning of a text file whose name does not end in that of a report.
pub(super) fn look(beginning: &[u8]) -> Look {
    let beginning = beginning.strip_prefix(b"\xef\xbb\xbf").unwrap_or(beginning);
    let mut titles = Vec::new();
    for line in beginning.split(|b| *b == b'\n').take(LINES as usize) {
        if let Some(report) = fields(line).as_deref().and_then(header::report_of) {
            return Look::Header(report);
        }
        let text = String::from_utf8_lossy(line);
        let text = text.trim_matches(['#', ' ', '\t', '\r']).to_owned();
        if is_rule(&text) {
            let of = |r: &&Report| titles.iter().any(|t: &String| t.contains(r.report) || t.contains(r.old_name));
            let how = REPORTS.iter().find(of).map_or_else(
                || "`nsys stats --format csv --output .` writes files that can be read".to_owned(),
                |report| format!("`{}` writes the right file", report.command()),
            );
            return Look::Remark(format!(
                "is the text that `nsys stats` prints, aligned in columns, and no CSV; {how}"
            ));
        }
        titles.push(text);
    }
    Look::Other
}
