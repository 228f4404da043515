//! The HTML around script, style and data: one file that fetches nothing.
//! In: what the page knows, and its blocks. Out: HTML. Left to neighbours: the script (`src/viewer`), the data.
//!
//! The policy names the one script and the one style by their hashes, so that nothing else runs, whatever a label says;
//! the data are no scripts to a browser. They follow the script, which shows the first look before they are read.

use std::fmt::Write;

use base64::Engine;
use serde::Serialize;

use crate::error::{Error, Result};
use crate::output::html::escape;

/// The script and the style that `npm run build` makes of src/viewer.
const SCRIPT: &str = include_str!("../../viewer/dist/viewer.js");
const STYLE: &str = include_str!("../../viewer/dist/viewer.css");

/// A block: its name and its text.
pub(super) type Encoded<'a> = (&'static str, &'a str);

/// The page.
pub(super) fn render(title: &str, meta: &impl Serialize, blocks: &[Encoded<'_>]) -> Result<Vec<u8>> {
    let meta = data(&serde_json::to_string(meta).map_err(|e| Error::Sql { problem: format!("page as JSON: {e}") })?);
    let room = blocks.iter().map(|(_, text)| text.len() + 100).sum::<usize>();
    let mut page = String::with_capacity(SCRIPT.len() + STYLE.len() + meta.len() + room + 2048);
    let _ = write!(
        page,
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n<meta http-equiv=\"Content-Security-Policy\" \
         content=\"default-src 'none'; script-src 'sha256-{}'; style-src 'sha256-{}'; worker-src blob:; img-src data: \
         blob:; base-uri 'none'; form-action 'none'\">\n<meta name=\"viewport\" content=\"width=device-width, \
         initial-scale=1\"><meta name=\"referrer\" content=\"no-referrer\">\n<title>{} – candle-graph</title>\n<link \
         rel=\"icon\" href=\"data:,\">\n<style>{STYLE}</style></head>\n<body><div id=\"app\"></div>\n<noscript><p>This \
         page draws its data with the script in it. Without scripts, read report.md, which has the same \
         numbers.</p></noscript>\n<script type=\"application/json\" id=\"cg-meta\">{meta}</script>\n\
         <script>{SCRIPT}</script>\n",
        digest(SCRIPT),
        digest(STYLE),
        escape(title),
    );
    for (name, text) in blocks {
        let _ = writeln!(
            page,
            "<script type=\"application/vnd.apache.arrow.stream\" class=\"cg-block\" data-name=\"{name}\">{text}</script>"
        );
    }
    page.push_str("</body></html>\n");
    Ok(page.into_bytes())
}

/// JSON that ends no element and begins none: in JSON these three occur in texts alone.
fn data(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    for c in json.chars() {
        match c {
            '<' => out.push_str("\\u003c"),
            '>' => out.push_str("\\u003e"),
            '&' => out.push_str("\\u0026"),
            c => out.push(c),
        }
    }
    out
}

/// The hash of a text between its tags, as a policy names it.
fn digest(text: &str) -> String {
    use sha2::Digest;
    base64::engine::general_purpose::STANDARD.encode(sha2::Sha256::digest(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_leaves_its_element() {
        let hostile = "</script><!--<script>&lt;";
        let json = data(&serde_json::to_string(hostile).unwrap());
        assert!(!json.contains(['<', '>', '&']), "{json}");
        assert_eq!(serde_json::from_str::<String>(&json).unwrap(), hostile);
    }

    /// What a browser hashes is what lies between the tags, and that ends at the first of these.
    #[test]
    fn script_and_style_end_where_their_elements_do() {
        assert!(!SCRIPT.contains("</script") && !SCRIPT.contains("<!--"));
        assert!(!STYLE.contains("</style"));
        // Line ends other than these would be changed before they are hashed.
        assert!(!SCRIPT.contains('\r') && !STYLE.contains('\r'));
    }
}
