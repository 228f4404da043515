//! The viewer: one HTML file that shows a trace, or a comparison, without a network.
//! In: an examined trace, or a document of `compare`. Out: the bytes of the page, the same for the same input, no more
//! than asked for. Left to neighbours: what it looks like (`src/viewer`, TypeScript).

mod blocks;
mod encode;
mod levels;
mod memory;
mod meta;
mod page;

use std::io::Read;
use std::path::Path;

use serde_json::Value;

use blocks::{BLOCKS, Gathered};
use page::Encoded;

use super::compare;
use super::each::each;
use crate::error::{Error, Result};
use crate::evidence::Evidence;

/// Bytes of a page, unless told otherwise.
pub const MOST: usize = 40_000_000;

/// Bytes of the largest comparison that is read.
const LARGEST_COMPARISON: u64 = 64 << 20;

/// Fewer rows than these are not worth a block.
const FEW: usize = 16;

/// The page of a trace, of at most `most` bytes.
///
/// # Errors
/// The engine's own failures; a limit that the page without rows does not keep.
pub fn of_trace(evidence: &Evidence, most: usize) -> Result<Vec<u8>> {
    // Two at a time: a query reads in one order, and more would hold more rows in memory.
    let wanted: Vec<_> = BLOCKS.iter().collect();
    let mut gathered = each(&wanted, 2, |block| blocks::gather(evidence, block))?;
    let mut encoded = each(&gathered, 2, encode_block)?;
    let mut meta = meta::of_trace(evidence)?;
    loop {
        meta.blocks = meta::blocks(&gathered)?;
        let named: Vec<Encoded<'_>> =
            gathered.iter().zip(&encoded).filter_map(|(g, text)| Some((g.name, text.as_deref()?))).collect();
        let page = page::render(&evidence.trace.run.entrypoint, &meta, &named)?;
        if page.len() <= most {
            return Ok(page);
        }
        let over = page.len() - most;
        let Some(at) = largest(&encoded) else {
            return Err(Error::Usage {
                problem: format!("a page without a single row has {} bytes; ask for at least as many", page.len()),
            });
        };
        shrink(&mut gathered[at], encoded[at].as_ref().map_or(0, String::len), over)?;
        encoded[at] = encode_block(&gathered[at])?;
    }
}

fn encode_block(gathered: &Gathered) -> Result<Option<String>> {
    gathered.rows.as_ref().ok().map(|kept| encode::encode(gathered.name, &kept.rows)).transpose()
}

/// The block that has most bytes.
fn largest(encoded: &[Option<String>]) -> Option<usize> {
    let sized = encoded.iter().enumerate().filter_map(|(at, text)| Some((text.as_ref()?.len(), at)));
    sized.max().map(|(_, at)| at)
}

/// Keeps so few rows of a block of `bytes` that about `over` of them go; half of the rows at most, because bytes a row
/// are not known until they are encoded.
fn shrink(gathered: &mut Gathered, bytes: usize, over: usize) -> Result<()> {
    let Ok(kept) = &gathered.rows else { return Ok(()) };
    let rows = kept.rows.num_rows();
    let share = (bytes.saturating_sub(over) as f64 / bytes.max(1) as f64 * 0.97).max(0.5);
    let most = (rows as f64 * share) as usize;
    if most < FEW {
        gathered.rows = Err("left out: the page may have no more bytes".to_owned());
        return Ok(());
    }
    let again = levels::keep(gathered.block.keep, kept.rows.clone(), most, gathered.total)?;
    gathered.rows = match again.rows.num_rows() < rows {
        true => Ok(again),
        // A mark a lane is the least there is, and some blocks are whole or absent.
        false => Err("left out: the page may have no more bytes".to_owned()),
    };
    Ok(())
}

/// The page of a comparison of at most `most` bytes, from its document.
///
/// # Errors
/// A document that does not fit: nothing of a comparison is left out.
pub fn of_comparison(document: &Value, most: usize) -> Result<Vec<u8>> {
    let page = page::render("comparison", &meta::of_comparison(document), &[])?;
    match page.len() <= most {
        true => Ok(page),
        false => Err(Error::Usage {
            problem: format!("the page of this comparison has {} bytes; ask for at least as many", page.len()),
        }),
    }
}

/// The document of `compare` at `path`, if that is what the file holds.
///
/// # Errors
/// A file that begins as such a document and is none.
pub fn comparison_at(path: &Path) -> Result<Option<Value>> {
    // A pipe can be read once, and it is a trace.
    if !path.is_file() {
        return Ok(None);
    }
    let mut file = std::fs::File::open(path).map_err(Error::io("open", path))?;
    let mut start = [0; 256];
    let read = file.read(&mut start).map_err(Error::io("read", path))?;
    let start = String::from_utf8_lossy(&start[..read]);
    if !start.trim_start().starts_with('{') || !start.contains(concat!("\"candle-graph/", "comparison/")) {
        return Ok(None);
    }
    let bytes = crate::load::bundle::read_small(path, LARGEST_COMPARISON)?;
    let document: Value = serde_json::from_slice(&bytes)
        .map_err(|e| Error::input(path, format!("is no document of `compare` ({e}); write it again with -o")))?;
    match document["schema"].as_str() {
        Some(schema) if schema == compare::SCHEMA => Ok(Some(document)),
        Some(schema) if schema.starts_with("candle-graph/comparison/") => Err(Error::input(
            path,
            format!("is a {}, and this version shows {}; compare again", crate::text::shorten(schema), compare::SCHEMA),
        )),
        _ => Ok(None),
    }
}
