//! Where a text holds somebody's home directory.
//! In: any text. Out: the home paths in it and the user that each is of, left to right. Left to neighbours: what becomes
//! of them (`replace`).
//!
//! Every byte is looked at a bounded number of times, whatever the text: a label is data.

use std::ops::Range;

/// What every home path holds, in any case: a text without one needs no closer look.
pub(super) const NEEDLES: [&str; 5] = ["/home/", "/users/", "\\users\\", "/root", "~"];

/// Longest user name, as file systems have it; longer is no directory.
pub(super) const LONGEST_NAME: usize = 255;

/// Longest path; what stands before the home in a longer one stays.
const LONGEST_PATH: usize = 4096;

/// One home path.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Home {
    /// From where the path begins to the end of the user's name.
    pub range: Range<usize>,
    /// The user's name in it.
    pub name: Range<usize>,
}

/// Every home path of `text`: `/home/NAME`, `/Users/NAME` and what is mounted before them, `/root`, `~NAME/`,
/// `C:\Users\NAME` with slashes of any kind and number.
pub(super) fn find(text: &str) -> Vec<Home> {
    let bytes = text.as_bytes();
    let mut found: Vec<Home> = Vec::new();
    let mut at = 0;
    while let Some(skipped) = bytes[at..].iter().position(|b| matches!(b, b'/' | b'~' | b':')) {
        let here = at + skipped;
        let (home, end) = match bytes[here] {
            b':' => (drive(text, here), here + 1),
            _ if !begins(text, here) => (None, here + 1),
            b'~' => (tilde(text, here), here + 1),
            _ => absolute(text, here),
        };
        // A drive's letter stands before its colon, and may belong to the name before it.
        let home = home.filter(|h| found.last().is_none_or(|last| last.range.end <= h.range.start));
        at = home.as_ref().map_or(end, |h| h.range.end);
        found.extend(home);
    }
    found
}

/// Whether a path can begin at `at`: not in the middle of another.
fn begins(text: &str, at: usize) -> bool {
    let mut before = text[..at].chars().rev();
    match before.next() {
        // `\n`, as JSON and debug output write the end of a line.
        Some('n' | 'r' | 't') if before.next() == Some('\\') => true,
        // `\/`, as JSON may write a slash.
        Some('\\') => begins(text, at - 1),
        Some(c) if c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '~' | '/') => begins_after_word(&text[..at]),
        _ => true,
    }
}

/// Whether a path can begin after a word: an option (`-I/home/...`), the parent directory, a colour of a terminal.
fn begins_after_word(head: &str) -> bool {
    // Longer ones are names.
    let near = &head[head.ceil_char_boundary(head.len().saturating_sub(32))..];
    let word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '~');
    let last = near.rsplit(|c| !word(c)).next().unwrap_or_default();
    let colour = near.rsplit_once('\u{1b}').and_then(|(_, rest)| rest.strip_prefix('['));
    let colour = colour.and_then(|rest| rest.strip_suffix('m'));
    last == ".."
        || (last.starts_with('-') && last[1..].starts_with(|c: char| c.is_ascii_alphabetic()))
        || colour.is_some_and(|codes| codes.bytes().all(|b| b.is_ascii_digit() || b == b';'))
}

/// The home that the absolute path at `at` leads to or through, and where to look on.
fn absolute(text: &str, at: usize) -> (Option<Home>, usize) {
    let mut end = at;
    loop {
        let start = end + slashes(text, end);
        let first = end == at;
        end = name_end(text, start);
        let component = &text[start..end];
        if first && component == "root" {
            return (Some(Home { range: at..end, name: start..end }), end);
        }
        if !(text[end..].starts_with('/') || text[end..].starts_with("\\/")) {
            return (None, end.max(at + 1));
        }
        if ["home", "users"].iter().any(|word| component.eq_ignore_ascii_case(word))
            && let Some(name) = name(text, end + slashes(text, end))
        {
            let whole = name.end - at <= LONGEST_PATH;
            let begin = if whole { at } else { start - 1 };
            return (Some(Home { range: begin..name.end, name: name.clone() }), name.end);
        }
    }
}

/// `~NAME/`. A tilde before a number means about.
fn tilde(text: &str, at: usize) -> Option<Home> {
    let name = name(text, at + 1)?;
    let named = text[name.start..].starts_with(|c: char| c.is_alphabetic() || c == '_');
    (named && text[name.end..].starts_with('/')).then_some(Home { range: at..name.end, name })
}

/// `X:\Users\NAME`, at its colon.
fn drive(text: &str, colon: usize) -> Option<Home> {
    let bytes = text.as_bytes();
    let letter = colon.checked_sub(1).filter(|&at| bytes[at].is_ascii_alphabetic())?;
    let alone = letter == 0 || !bytes[letter - 1].is_ascii_alphanumeric();
    let folder = colon + 1 + slashes(text, colon + 1);
    let folder_end = name_end(text, folder);
    let start = folder_end + slashes(text, folder_end);
    let users = text[folder..folder_end].eq_ignore_ascii_case("users");
    if !(alone && folder > colon + 1 && users && start > folder_end) {
        return None;
    }
    let name = spaced_name(text, start).or_else(|| name(text, start))?;
    Some(Home { range: letter..name.end, name })
}

/// A name that may hold spaces, as Windows has them: only a slash after it says where it ends.
fn spaced_name(text: &str, start: usize) -> Option<Range<usize>> {
    let near = &text[start..text.floor_char_boundary(start + LONGEST_NAME + 1)];
    let length = near.find(|c: char| c.is_control() || "\\/:*?\"<>|,;".contains(c))?;
    let name = &near[..length];
    let ended = near[length..].starts_with(['\\', '/']);
    (ended && name.trim() == name && is_name(name)).then(|| start..start + length)
}

/// The user's name that begins at `start`.
fn name(text: &str, start: usize) -> Option<Range<usize>> {
    // The end of a sentence is no part of a name.
    let name = text[start..name_end(text, start)].trim_end_matches(['.', '-', '@', '+']);
    is_name(name).then(|| start..start + name.len())
}

fn is_name(name: &str) -> bool {
    name.len() <= LONGEST_NAME && !name.starts_with(['.', '-']) && name.contains(char::is_alphanumeric)
}

fn slashes(text: &str, at: usize) -> usize {
    text.as_bytes()[at..].iter().take_while(|b| matches!(b, b'/' | b'\\')).count()
}

/// The end of the characters from `start` on that a user's name or another component of a path may hold.
fn name_end(text: &str, start: usize) -> usize {
    let mut rest = &text[start..];
    loop {
        if let Some(after) = rest.strip_prefix("%20") {
            rest = after;
            continue;
        }
        match rest.chars().next() {
            Some(c) if in_name(c) => rest = &rest[c.len_utf8()..],
            _ => return text.len() - rest.len(),
        }
    }
}

fn in_name(c: char) -> bool {
    match c {
        '_' | '.' | '-' | '@' | '+' => true,
        c if c.is_ascii() => c.is_ascii_alphanumeric(),
        // Punctuation of the Latin, general and ideographic blocks, and the byte-order mark.
        '\u{80}'..='\u{bf}' | '\u{2000}'..='\u{206f}' | '\u{3000}'..='\u{303f}' | '\u{feff}' => false,
        c => !c.is_whitespace(),
    }
}

#[cfg(test)]
mod tests {
    use super::find;

    /// The homes in a text and whose they are.
    fn homes(text: &str) -> Vec<(&str, &str)> {
        find(text).into_iter().map(|h| (&text[h.range], &text[h.name])).collect()
    }

    #[test]
    fn every_form_of_a_home_is_seen() {
        for (text, home, name) in [
            ("/home/alice", "/home/alice", "alice"),
            ("at /home/alice/x.rs:3", "/home/alice", "alice"),
            ("see /home/alice.", "/home/alice", "alice"),
            ("/home/jane.doe/x", "/home/jane.doe", "jane.doe"),
            ("/Users/alice/x", "/Users/alice", "alice"),
            ("/var/home/alice/x", "/var/home/alice", "alice"),
            ("/export/home/alice", "/export/home/alice", "alice"),
            ("/mnt/c/Users/alice/x", "/mnt/c/Users/alice", "alice"),
            ("file:///home/alice/x", "///home/alice", "alice"),
            ("file:///C:/Users/alice/x", "C:/Users/alice", "alice"),
            ("--dir=/home/alice", "/home/alice", "alice"),
            ("cc -I/home/alice/include -O2", "/home/alice", "alice"),
            ("-isystem/home/alice/x", "/home/alice", "alice"),
            ("../../home/alice/x", "/../home/alice", "alice"),
            ("\u{1b}[1;31m/home/alice", "/home/alice", "alice"),
            ("{\"p\":\"\\/home\\/alice\\/x\"}", "/home\\/alice", "alice"),
            ("/HOME/alice", "/HOME/alice", "alice"),
            ("one\\n/home/alice", "/home/alice", "alice"),
            ("/home/josé/x", "/home/josé", "josé"),
            ("/home/alice%20smith/x", "/home/alice%20smith", "alice%20smith"),
            ("/home/alice…", "/home/alice", "alice"),
            ("C:\\Users\\alice\\x", "C:\\Users\\alice", "alice"),
            ("d:/users/alice", "d:/users/alice", "alice"),
            ("{\"p\":\"C:\\\\Users\\\\alice\\\\x\"}", "C:\\\\Users\\\\alice", "alice"),
            ("C:\\Users\\Alice Smith\\x", "C:\\Users\\Alice Smith", "Alice Smith"),
            ("from C:\\Users\\alice to D:\\x", "C:\\Users\\alice", "alice"),
            ("/root/x", "/root", "root"),
            ("/root", "/root", "root"),
            ("~alice/x", "~alice", "alice"),
        ] {
            assert_eq!(homes(text), [(home, name)], "{text}");
        }
    }

    #[test]
    fn what_is_no_home_is_left() {
        for text in [
            "",
            "/",
            "~",
            "~/x",
            ":",
            "C:\\",
            "C:\\Users",
            "C:\\Users\\",
            "/home",
            "/home/",
            "/home/../x",
            "/home/$USER/x",
            "model/home/kitchen",
            "./home/kitchen",
            "/rooted",
            "/root_dir",
            "/usr/root",
            "~10/s",
            "about ~3/4",
            "file~",
            "encoder.home/alice",
            "abc:\\Users\\alice",
            "/homes/alice",
            "x~alice/y",
            "~alice",
        ] {
            assert_eq!(homes(text), [], "{text}");
        }
    }

    #[test]
    fn several_homes_are_seen_in_their_order() {
        assert_eq!(
            homes("/home/alice:/home/bob/bin:/root/bin;C:\\Users\\carol,~dan/x"),
            [
                ("/home/alice", "alice"),
                ("/home/bob", "bob"),
                ("/root", "root"),
                ("C:\\Users\\carol", "carol"),
                ("~dan", "dan")
            ]
        );
        assert_eq!(homes("/home/alice/home/bob"), [("/home/alice", "alice")], "the second is a folder of the first's");
        assert_eq!(
            homes("/home/c:/Users/alice"),
            [("/home/c", "c"), ("/Users/alice", "alice")],
            "nothing is in two homes"
        );
    }

    #[test]
    fn hostile_text_is_quick() {
        let big = |text: &str| text.repeat((1 << 20) / text.len());
        for text in
            [big("/"), big("/home/"), big("~a"), big("C:\\Users\\"), big("a:/"), big("/home/a:"), big("é/"), big("C:")]
        {
            let begun = std::time::Instant::now();
            find(&text);
            assert!(begun.elapsed().as_secs() < 5, "{}…", &text[..8]);
        }
        let long = format!("{}/home/alice", "/x".repeat(4000));
        assert_eq!(homes(&long), [("/home/alice", "alice")]);
    }
}
