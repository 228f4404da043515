//! What a Parquet file claims, checked against its bytes before anything is reserved or decoded for it.
//! In: an open file. Out: nothing, or why it is no table of a trace. Left to neighbours: whose table it is (`files`).
//!
//! Structure is checked of every file. Sizes are checked of files that came in a bundle: whoever wrote one may want the
//! reader's memory. Hashes say that the bytes are those that were published, not that they mean well.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};

use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::basic::Type;
use parquet::file::metadata::{ColumnChunkMetaData, ParquetMetaData};

use super::thrift::{Kind, Reader};

/// Longest footer: 100 million events make one of 2 MB.
const FOOTER: u64 = 16 << 20;
/// Elements of a schema: the widest table has 27 columns, some of them structures.
const SCHEMA: i64 = 1024;
/// Longest head of a page.
const PAGE_HEAD: u64 = 64 << 10;
/// Bytes that the largest pages of all columns, or one batch of a column, may have when decoded.
const DECODED: u64 = 128 << 20;
/// Rows of the largest batch that is read at once.
const BATCH: u64 = 16 * 1024;
/// Rows for each byte of a file's pages: one of 20,000 rows has 20 bytes at least in each of a dozen columns.
const ROWS_PER_BYTE: u64 = 256;

/// A problem in words that follow the name of the file.
type Checked<T = ()> = Result<T, String>;

fn read_at(mut file: &File, at: u64, bytes: u64) -> Checked<Vec<u8>> {
    let mut buffer = vec![0; bytes as usize];
    let read = file.seek(SeekFrom::Start(at)).and_then(|_| file.read_exact(&mut buffer));
    read.map(|()| buffer).map_err(|e| format!("cannot be read ({e})"))
}

/// Checks the footer, before the library decodes it.
pub(super) fn footer(file: &File) -> Checked {
    let size = file.metadata().map_err(|e| format!("cannot be read ({e})"))?.len();
    let no_parquet = || "is no readable Parquet file, truncated or damaged".to_owned();
    if size < 12 {
        return Err(no_parquet());
    }
    let tail = read_at(file, size - 8, 8)?;
    let length = u64::from(u32::from_le_bytes([tail[0], tail[1], tail[2], tail[3]]));
    if &tail[4..] != b"PAR1" || length > size - 12 {
        return Err(no_parquet());
    }
    if length > FOOTER {
        return Err(format!("has a footer of {length} bytes, more than any recorder writes"));
    }
    let bytes = read_at(file, size - 8 - length, length)?;
    let mut reader = Reader::new(&bytes);
    let walked = reader.structure(0, &mut |id, kind, r| {
        if id != 2 {
            return Ok(false);
        }
        let (elements, item) = r.list(kind)?;
        if elements > SCHEMA as u64 || item != Kind::STRUCT {
            return Err("has a schema that no recorder writes");
        }
        for _ in 0..elements {
            r.structure(1, &mut |id, kind, r| {
                // The library reserves room for this many children before it looks for the first.
                if id == 5 && !(0..=SCHEMA).contains(&r.int(kind)?) {
                    return Err("has a schema that no recorder writes");
                }
                Ok(id == 5)
            })?;
        }
        Ok(true)
    });
    walked.map_err(|problem| format!("{} (its footer {problem})", no_parquet()))
}

/// A page of a column chunk.
struct Page {
    dictionary: bool,
    decoded: u64,
    values: i64,
}

/// Checks the pages of every column chunk: that they fill their chunk and hold the values that the footer states, and,
/// `from_outside`, that none of them grows without measure.
pub(super) fn pages(reader: &ParquetRecordBatchReaderBuilder<File>, file: &File, from_outside: bool) -> Checked {
    let metadata = reader.metadata();
    let size = file.metadata().map_err(|e| format!("cannot be read ({e})"))?.len();
    let rows = u64::try_from(metadata.file_metadata().num_rows()).map_err(|_| "states a negative number of rows")?;
    let grouped = metadata.row_groups().iter().try_fold(0_i64, |sum, g| sum.checked_add(g.num_rows()));
    let stored = metadata.row_groups().iter().flat_map(|g| g.columns()).map(|c| c.compressed_size().max(0) as u64);
    let stored = stored.fold(0_u64, u64::saturating_add).min(size);
    if grouped.and_then(|n| u64::try_from(n).ok()) != Some(rows) || rows > stored.saturating_mul(ROWS_PER_BYTE) {
        return Err(format!("states {rows} rows, which {stored} bytes of pages cannot hold"));
    }
    let columns = metadata.file_metadata().schema_descr().num_columns();
    let mut largest = vec![0_u64; columns];
    for (index, group) in metadata.row_groups().iter().enumerate() {
        for (column, chunk) in group.columns().iter().enumerate() {
            let name = chunk.column_path().string();
            let in_column = |problem: String| format!("column {name}: {problem}");
            let pages = chunk_pages(file, chunk, size).map_err(in_column)?;
            let values = pages.iter().filter(|p| !p.dictionary).try_fold(0_i64, |sum, p| sum.checked_add(p.values));
            if values != Some(chunk.num_values()) || values < Some(group.num_rows()) {
                return Err(in_column("its pages do not hold the values that the file states".to_owned()));
            }
            let page = pages.iter().map(|p| p.decoded).max().unwrap_or(0);
            if let Some(known) = largest.get_mut(column) {
                *known = page.max(*known);
            }
            if from_outside {
                batch(metadata, file, (index, column), &pages).map_err(in_column)?;
            }
        }
    }
    let decoded = largest.iter().fold(0_u64, |sum, page| sum.saturating_add(*page));
    if from_outside && decoded > DECODED {
        return Err(format!("has pages that grow to {decoded} bytes, more than any recorder writes"));
    }
    Ok(())
}

fn chunk_pages(file: &File, chunk: &ColumnChunkMetaData, size: u64) -> Checked<Vec<Page>> {
    let outside = || "its data lie outside the file".to_owned();
    let begin = chunk.dictionary_page_offset().unwrap_or(i64::MAX).min(chunk.data_page_offset());
    let begin = u64::try_from(begin).map_err(|_| outside())?;
    let length = u64::try_from(chunk.compressed_size()).map_err(|_| outside())?;
    let end = begin.checked_add(length).filter(|end| *end <= size).ok_or_else(outside)?;
    let mut pages = Vec::new();
    let mut at = begin;
    while at < end {
        let mut room = 512.min(end - at);
        let (page, head, body) = loop {
            match page_head(&read_at(file, at, room)?) {
                Ok(found) => break found,
                // Statistics can make a head longer.
                Err(_) if room < PAGE_HEAD.min(end - at) => room = PAGE_HEAD.min(end - at),
                Err(problem) => return Err(format!("the head of a page {problem}")),
            }
        };
        at = at.checked_add(head).and_then(|a| a.checked_add(body)).filter(|a| *a <= end).ok_or_else(outside)?;
        pages.push(page);
    }
    Ok(pages)
}

/// The page, the bytes of its head, and those of its body.
fn page_head(bytes: &[u8]) -> Result<(Page, u64, u64), &'static str> {
    let (mut kind, mut decoded, mut stored, mut values) = (-1, -1, -1, 0);
    let mut reader = Reader::new(bytes);
    reader.structure(0, &mut |id, field, r| {
        match id {
            1 => kind = r.int(field)?,
            2 => decoded = r.int(field)?,
            3 => stored = r.int(field)?,
            5 | 7 | 8 if field == Kind::STRUCT => r.structure(1, &mut |inner, field, r| {
                if inner == 1 {
                    values = r.int(field)?;
                }
                Ok(inner == 1)
            })?,
            _ => return Ok(false),
        }
        Ok(true)
    })?;
    let bytes = |n: i64| u64::try_from(n).map_err(|_| "states a negative size");
    if values < 0 || !(0..=3).contains(&kind) {
        return Err("is of no known kind");
    }
    let page = Page { dictionary: kind == 2, decoded: bytes(decoded)?, values: if kind == 1 { 0 } else { values } };
    Ok((page, reader.at() as u64, bytes(stored)?))
}

/// Checks that no batch of a column chunk becomes too large: values can stand once in a dictionary and a million times in
/// the rows, and one row can list any number of them.
fn batch(metadata: &ParquetMetaData, file: &File, (group, column): (usize, usize), pages: &[Page]) -> Checked {
    let row_group = metadata.row_group(group);
    let chunk = row_group.column(column);
    let rows = row_group.num_rows().max(1) as u64;
    let values = chunk.num_values() as u64;
    // Rows of one batch hold all values at worst; lists of a few items are what tensors have.
    let listed = chunk.column_descr().max_rep_level() > 0;
    let most = if listed && values / rows > 64 { values } else { (BATCH * if listed { 64 } else { 1 }).min(values) };
    let too_large =
        |bytes: u64| Err(format!("a batch of it grows to {bytes} bytes, more than any recorder writes at once"));
    let text = chunk.column_type() == Type::BYTE_ARRAY;
    // What one value takes whatever it holds: a text is counted below through a pointer to it.
    let least = most.saturating_mul(if text { 32 } else { 8 });
    if least > DECODED {
        return too_large(least);
    }
    if !text {
        return Ok(());
    }
    let dictionary = pages.iter().filter(|p| p.dictionary).map(|p| p.decoded).max().unwrap_or(0);
    if dictionary.saturating_mul(most) <= DECODED {
        return Ok(());
    }
    if pages.iter().any(|p| p.decoded > DECODED) {
        return too_large(DECODED);
    }
    text_batch(metadata, file, (group, column))
        .and_then(|bytes| if bytes > DECODED { too_large(bytes) } else { Ok(()) })
}

/// Bytes of the largest batch of a text column: its values are counted where they stand, none is copied.
fn text_batch(metadata: &ParquetMetaData, file: &File, (group, column): (usize, usize)) -> Checked<u64> {
    use parquet::column::reader::{ColumnReader, get_column_reader};
    use parquet::file::serialized_reader::SerializedPageReader;
    let damaged = |e: parquet::errors::ParquetError| format!("cannot be decoded ({e})");
    let row_group = metadata.row_group(group);
    let chunk = row_group.column(column);
    let file = std::sync::Arc::new(file.try_clone().map_err(|e| format!("cannot be read ({e})"))?);
    let pages = SerializedPageReader::new(file, chunk, row_group.num_rows().max(0) as usize, None).map_err(damaged)?;
    let ColumnReader::ByteArrayColumnReader(mut reader) = get_column_reader(chunk.column_descr_ptr(), Box::new(pages))
    else {
        return Ok(0);
    };
    let (mut values, mut definitions, mut repetitions) = (Vec::new(), Vec::new(), Vec::new());
    let mut largest = 0_u64;
    loop {
        values.clear();
        definitions.clear();
        repetitions.clear();
        let read = reader.read_records(BATCH as usize, Some(&mut definitions), Some(&mut repetitions), &mut values);
        let (records, _, _) = read.map_err(damaged)?;
        let bytes: u64 = values.iter().map(|v| v.len() as u64).sum();
        largest = largest.max(bytes);
        if records == 0 || largest > DECODED {
            return Ok(largest);
        }
    }
}
