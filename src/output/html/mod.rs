//! Pages for people: one HTML file each, that fetches nothing and runs nothing.
//! In: any text, the styles of a page. Out: text that is only text, the head that all pages share. Left to neighbours:
//! what a page says (`series`, `compare`).
//!
//! Every text of a capture passes [`escape`]; what hides or turns text round is shown by its number.

mod axis;

use std::fmt::Write;

pub(super) use axis::{Axis, nice_step, superscript};

use crate::text::{printable, shorten_to};

/// Longest label shown, in bytes as JSON writes them.
const LABEL: usize = 128;

/// `text` as HTML and as a quoted attribute.
pub(super) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in printable(text).chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            // What nobody sees, and tells two labels apart.
            '\u{ad}'
            | '\u{180e}'
            | '\u{200b}'..='\u{200d}'
            | '\u{2028}'
            | '\u{2029}'
            | '\u{2060}'..='\u{206f}'
            | '\u{feff}'
            | '\u{fff9}'..='\u{fffb}'
            | '\u{e0000}'..='\u{e007f}' => {
                let _ = write!(out, "{}", c.escape_unicode());
            }
            c => out.push(c),
        }
    }
    out
}

/// A label: escaped, and of bounded length.
pub(super) fn label(text: &str) -> String {
    escape(&shorten_to(text, LABEL))
}

/// All that precedes a page's first heading. `title` is HTML already; `style` follows what all pages share.
pub(super) fn head(title: &str, style: &str) -> String {
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n<meta http-equiv=\"Content-Security-Policy\" \
         content=\"default-src 'none'; style-src 'unsafe-inline'; img-src data:\">\n<meta name=\"viewport\" \
         content=\"width=device-width, initial-scale=1\"><meta name=\"referrer\" content=\"no-referrer\">\n\
         <title>{title}</title>\n<link rel=\"icon\" href=\"data:,\">\n<style>\n{}{style}</style></head>\n<body>\n",
        include_str!("base.css")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostile_text_is_text() {
        assert_eq!(escape("<b a=\"x\" b='y'>&"), "&lt;b a=&quot;x&quot; b=&#39;y&#39;&gt;&amp;");
        assert_eq!(escape("a\u{202e}b\u{200b}c\0"), "a\\u{202e}b\\u{200b}c\\u{0}");
    }
}
