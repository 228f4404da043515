//! Text of a trace is data: bounded where a document is, and tame where a terminal reads it.
//! In: any text. Out: text of bounded length, or without control characters. Left to neighbours: which text.

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
    if text.len() <= MAX_TEXT && text.chars().map(json_len).sum::<usize>() <= MAX_TEXT {
        return text.to_owned();
    }
    let head: String = fitting(text.chars(), 64).collect();
    let tail: Vec<char> = fitting(text.chars().rev(), 48).collect();
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
