//! Text of a trace is data: bounded where a document is, and tame where a terminal reads it; numbers as people read them.
//! In: any text, times, sizes, counts. Out: text of bounded length, or without control characters. Left to neighbours:
//! which text.

use sha2::{Digest, Sha256};

/// Longest text a bounded document shows whole, in bytes as JSON writes them.
pub const MAX_TEXT: usize = 160;

/// Bytes that JSON takes for a character.
fn json_len(c: char) -> usize {
    match c {
        '"' | '\\' | '\n' | '\r' | '\t' | '\u{8}' | '\u{c}' => 2,
        c if c < ' ' => 6,
        c => c.len_utf8(),
    }
}

/// The characters of `text` that fit into `budget` bytes of JSON.
fn fitting<'a>(chars: impl Iterator<Item = char> + 'a, budget: usize) -> impl Iterator<Item = char> + 'a {
    chars.scan(0, move |used, c| {
        *used += json_len(c);
        (*used <= budget).then_some(c)
    })
}

/// `text`, or its two ends with its full length and a hash that tells it from others: about 180 bytes of JSON at most.
pub fn shorten(text: &str) -> String {
    shorten_to(text, MAX_TEXT)
}

/// As [`shorten`], for texts of up to `most` bytes of JSON (at least 128): what is cut has at most 40 bytes more.
pub fn shorten_to(text: &str, most: usize) -> String {
    if text.len() <= most && text.chars().map(json_len).sum::<usize>() <= most {
        return text.to_owned();
    }
    // Room for what stands between the ends; more of the head, where most names say what they are.
    let room = most.saturating_sub(48);
    let head: String = fitting(text.chars(), room * 4 / 7).collect();
    let tail: Vec<char> = fitting(text.chars().rev(), room * 3 / 7).collect();
    let tail: String = tail.into_iter().rev().collect();
    let digest = Sha256::digest(text.as_bytes());
    let hash: String = digest.iter().take(4).map(|b| format!("{b:02x}")).collect();
    format!("{head}…[{} bytes, sha256 {hash}]…{tail}", text.len())
}

/// `text` for a terminal: control characters and direction overrides escaped, because a label is data.
pub fn printable(text: &str) -> String {
    let hostile = |c: char| {
        c.is_control()
            || matches!(c, '\u{61c}' | '\u{200e}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    if !text.chars().any(hostile) {
        return text.to_owned();
    }
    text.chars().map(|c| if hostile(c) { c.escape_default().to_string() } else { c.to_string() }).collect()
}

/// Nanoseconds in the unit that keeps three or four digits.
pub fn duration(ns: f64) -> String {
    match ns.abs() {
        n if n >= 1e9 => format!("{:.3} s", ns / 1e9),
        n if n >= 1e6 => format!("{:.3} ms", ns / 1e6),
        n if n >= 1e3 => format!("{:.2} µs", ns / 1e3),
        _ => format!("{ns:.0} ns"),
    }
}

/// Bytes in binary units.
pub fn bytes(n: f64) -> String {
    const UNITS: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];
    let mut value = n;
    let mut unit = 0;
    while value.abs() >= 1024.0 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    if unit == 0 { format!("{n:.0} B") } else { format!("{value:.1} {}", UNITS[unit]) }
}

/// Digits in groups of three.
pub fn count(n: u64) -> String {
    let digits = n.to_string();
    let groups: Vec<&str> =
        digits.as_bytes().rchunks(3).rev().map(|group| std::str::from_utf8(group).unwrap_or_default()).collect();
    groups.join(",")
}
