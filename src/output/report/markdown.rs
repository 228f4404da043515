//! Text of a trace as Markdown that shows it and never obeys it; numbers with their units.
//! In: any text, any number. Out: GitHub-flavoured Markdown of one line, bounded in bytes.
//! Left to neighbours: tables and paragraphs (`page`), what they say (the other modules).

use crate::text::{count, printable, shorten_to};

/// A cell without a value: what was not recorded.
pub(in crate::output) const ABSENT: &str = "–";

/// Longest text of a cell, in bytes as JSON writes them.
const CELL: usize = 128;
/// Longest sentence that may hold texts of a trace.
const SENTENCE: usize = 480;

/// A character that no reader sees, or that only moves others: shown as its number.
fn hidden(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{180e}' | '\u{200b}' | '\u{2028}'..='\u{2029}' | '\u{2060}'..='\u{206f}' | '\u{feff}'
        | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

/// `text` with every character that cannot be seen escaped.
fn visible(text: &str) -> String {
    let escape = |c: char| if hidden(c) { c.escape_unicode().to_string() } else { c.to_string() };
    printable(text).chars().map(escape).collect()
}

/// Whether `text` may stand between backticks: all its characters mean nothing to any reader of Markdown, there or
/// elsewhere, but for those that a code span disarms (`_`, `#`, `@`, `:`).
fn fits_code(text: &str) -> bool {
    let harmless = |c: char| c.is_alphanumeric() || !c.is_ascii() || " _-./:,+=@%()#;'\"!?{}^>".contains(c);
    text.chars().all(harmless) && !text.starts_with(' ') && !text.ends_with(' ') && !text.is_empty()
}

/// `text` outside code: characters that mean something to Markdown or HTML escaped, addresses no links.
fn escaped(text: &str) -> String {
    /// Stands inside an address so that nothing takes it for one; it shows nothing.
    const BREAK: &str = "&#8203;";
    let mut out = String::with_capacity(text.len());
    let mut before = ['\0'; 3];
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        let next = chars.peek().copied();
        match c {
            '\\' | '*' | '~' | '[' | ']' | '#' => out.extend(['\\', c]),
            // Within a word it never sets off anything, and names read better without.
            '_' if before[2].is_alphanumeric() && next.is_some_and(char::is_alphanumeric) => out.push(c),
            '_' => out.push_str("\\_"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '|' => out.push_str("&#124;"),
            '`' => out.push_str("&#96;"),
            '$' => out.push_str("&#36;"),
            '@' => out.extend(["@", BREAK]),
            ':' if next == Some('/') => out.extend([":", BREAK]),
            '.' if before.map(|c| c.to_ascii_lowercase()) == ['w'; 3] => out.extend([BREAK, "."]),
            _ => out.push(c),
        }
        before = [before[1], before[2], c];
    }
    out
}

/// `render` of `text` within bounds: a text of which escaping makes too much is cut before.
fn within(text: &str, most: usize, render: impl Fn(&str) -> String) -> String {
    let whole = render(&visible(&shorten_to(text, most)));
    if whole.len() <= 2 * most + 80 {
        return whole;
    }
    let head: String = text.chars().take(32).collect();
    format!("{}…\\[{} bytes\\]", escaped(&visible(&head)), count(text.len() as u64))
}

/// A text of the trace: in code where it can be, else escaped.
pub(in crate::output) fn label(text: &str) -> String {
    within(text, CELL, |text| match text.trim() {
        "" => "(blank)".to_owned(),
        _ if fits_code(text) => format!("`{text}`"),
        _ => escaped(text),
    })
}

/// A text of the trace that is one of a few words almost always: a device, a dtype, a state.
pub(in crate::output) fn word(text: &str) -> String {
    within(text, CELL, |text| if text.trim().is_empty() { "(blank)".to_owned() } else { escaped(text) })
}

/// `text` that may begin a line: there a few more characters begin a list.
fn leading(text: String) -> String {
    let digits = text.chars().take_while(char::is_ascii_digit).count();
    match text[digits..].chars().next() {
        Some('-' | '+') if digits == 0 => format!("\\{text}"),
        Some('.' | ')') if digits > 0 => format!("{}\\{}", &text[..digits], &text[digits..]),
        _ => text,
    }
}

/// A sentence that holds texts of the trace, those between backticks in code where they can be.
pub(in crate::output) fn sentence(text: &str) -> String {
    let text = within(text.trim_start(), SENTENCE, |text| {
        let parts: Vec<&str> = text.split('`').collect();
        if parts.len().is_multiple_of(2) {
            return escaped(text);
        }
        let last = parts.len() - 1;
        let part = |(index, part): (usize, &&str)| match index % 2 {
            1 if fits_code(part) => format!("`{part}`"),
            // Two code spans that touch would be read as one.
            0 if part.is_empty() && index > 0 && index < last => " ".to_owned(),
            _ => escaped(part),
        };
        parts.iter().enumerate().map(part).collect()
    });
    leading(text)
}

/// `part` of a whole as a bar: the whole is 20 blocks.
pub(in crate::output) fn bar(part: f64) -> String {
    const WHOLE: f64 = 20.0;
    let blocks = (part.clamp(0.0, 1.0) * WHOLE).round() as usize;
    match blocks {
        0 if part > 0.0 => "▏".to_owned(),
        _ => "▇".repeat(blocks),
    }
}

/// `part` of a whole in percent.
pub(in crate::output) fn percent(part: f64) -> String {
    match part.abs() {
        0.0 => "0 %".to_owned(),
        // Not zero, and not to be taken for it.
        p if p < 5e-5 => "≈ 0 %".to_owned(),
        p if p < 1e-3 => format!("{:.2} %", part * 100.0),
        _ => format!("{:.1} %", part * 100.0),
    }
}

/// A value of a tensor in four digits.
pub(in crate::output) fn value(x: f64) -> String {
    let size = x.abs();
    if size == 0.0 {
        return "0".to_owned();
    }
    // Compared, not computed: a logarithm may differ in its last bit between machines.
    let whole_digits = [1e5, 1e4, 1e3, 1e2, 1e1, 1e0, 1e-1, 1e-2, 1e-3].iter().position(|least| size >= *least);
    match whole_digits {
        Some(place) if size < 1e6 => format!("{x:.*}", (place + 4).saturating_sub(6)),
        _ => format!("{x:.3e}"),
    }
}

/// An amount with the decimal prefix that keeps three digits before the point at most.
pub(in crate::output) fn si(x: f64, unit: &str) -> String {
    const PREFIXES: [&str; 6] = ["", "k", "M", "G", "T", "P"];
    let mut scaled = x;
    let mut prefix = 0;
    while scaled.abs() >= 1000.0 && prefix + 1 < PREFIXES.len() {
        scaled /= 1000.0;
        prefix += 1;
    }
    if prefix == 0 { format!("{x:.0} {unit}") } else { format!("{scaled:.2} {}{unit}", PREFIXES[prefix]) }
}

/// `n` and its noun.
pub(in crate::output) fn several(n: u64, one: &str, many: &str) -> String {
    format!("{} {}", count(n), if n == 1 { one } else { many })
}

#[cfg(test)]
mod tests {
    use super::{bar, escaped, label, percent, sentence, si, value};

    #[test]
    fn names_are_code_and_what_could_do_something_is_escaped() {
        assert_eq!(label("digits/log_softmax"), "`digits/log_softmax`");
        assert_eq!(label("https://a.example/#x"), "`https://a.example/#x`");
        assert_eq!(label("Linear<f32>"), "Linear&lt;f32&gt;");
        assert_eq!(label("a|b`c"), "a&#124;b&#96;c");
        assert_eq!(label("blocks[3].out_proj"), "blocks\\[3\\].out_proj");
        assert_eq!(label("a\nb\u{202e}c\u{200b}"), "a\\\\nb\\\\u{202e}c\\\\u{200b}");
        assert_eq!(label(" "), "(blank)");
        assert_eq!(escaped("_a_b_ __c"), "\\_a_b\\_ \\_\\_c");
        assert_eq!(
            escaped("[x](http://e.com) www.e.com a@e.com"),
            "\\[x\\](http:&#8203;//e.com) www&#8203;.e.com a@&#8203;e.com"
        );
    }

    #[test]
    fn a_sentence_keeps_its_names() {
        assert_eq!(sentence("`a_b` takes 3 ns"), "`a_b` takes 3 ns");
        assert_eq!(sentence("`Linear<f32>` takes *3*"), "Linear&lt;f32&gt; takes \\*3\\*");
        assert_eq!(sentence("a ` b"), "a &#96; b");
        assert_eq!(sentence("`a``b` c"), "`a` `b` c");
        assert_eq!(sentence("x `` y"), "x  y");
        assert_eq!(
            [" - a", "+ a", "12. a", "1) a", "1 a"].map(sentence),
            ["\\- a", "\\+ a", "12\\. a", "1\\) a", "1 a"]
        );
    }

    #[test]
    fn whatever_a_text_is_it_stays_short() {
        for bad in ["|", "<", "@", "\u{202e}", "\u{1}", "`", "a`b ", "://", "日"] {
            let text = bad.repeat(1 << 20);
            assert!(label(&text).len() <= 336, "{bad:?}: {}", label(&text).len());
            assert!(sentence(&text).len() <= 1040, "{bad:?}: {}", sentence(&text).len());
        }
    }

    #[test]
    fn numbers_keep_four_digits() {
        let cases = [(0.0, "0"), (1.0, "1.000"), (-12.34567, "-12.35"), (0.0187, "0.01870"), (123_456.7, "123457")];
        cases.iter().for_each(|(x, text)| assert_eq!(value(*x), *text));
        assert_eq!((value(1e6).as_str(), value(9.4e-4).as_str()), ("1.000e6", "9.400e-4"));
        assert_eq!((si(999.0, "FLOP").as_str(), si(6.909e9, "FLOP/s").as_str()), ("999 FLOP", "6.91 GFLOP/s"));
        assert_eq!([0.0, 1e-6, 4e-4, 0.123].map(percent), ["0 %", "≈ 0 %", "0.04 %", "12.3 %"]);
        assert_eq!((bar(0.5).chars().count(), bar(0.001).as_str(), bar(0.0).as_str()), (10, "▏", ""));
    }
}
