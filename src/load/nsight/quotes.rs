//! Whether the quotes of a record are where a report has them.
//! In: the bytes of a record, in as many parts as they come. Out: whether one is missing. Left to neighbours: fields
//! (`csv_core`, which takes whatever it is given).
//!
//! Where a quote is missing, the next one in the file closes what it should open, and rows run into each other. Then
//! their number is odd, or text follows the quote that closes a field; nothing else would tell.

/// The quotes of one record.
#[derive(Debug, Default)]
pub(super) struct Quotes {
    state: State,
    /// The byte before the part that comes next; none at the beginning.
    before: Option<u8>,
    /// Whether text followed a closing quote.
    misplaced: bool,
    /// How many there were.
    seen: usize,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    Outside,
    Inside,
    /// In a quoted field, behind a quote: another one makes both stand for one, anything else is behind the field.
    Closing,
}

impl Quotes {
    /// Whether no quote was met yet.
    pub(super) fn none(&self) -> bool {
        self.seen == 0
    }

    /// Whether a field was opened and not closed.
    pub(super) fn open(&self) -> bool {
        self.seen % 2 == 1
    }

    /// Whether text follows a quote that closed a field.
    pub(super) fn misplaced(&self) -> bool {
        self.misplaced
    }

    /// Takes the next bytes of the record.
    pub(super) fn feed(&mut self, part: &[u8]) {
        let Some(last) = part.last() else { return };
        if self.state == State::Closing {
            self.behind(part[0]);
        }
        for at in memchr::memchr_iter(b'"', part) {
            self.seen += 1;
            match self.state {
                State::Outside => {
                    let before = at.checked_sub(1).map(|b| part[b]).or(self.before);
                    // A quote within a field that began without one stands for itself.
                    if before.is_none_or(|b| matches!(b, b',' | b'\n' | b'\r')) {
                        self.state = State::Inside;
                    }
                }
                State::Inside => {
                    self.state = State::Closing;
                    if let Some(next) = part.get(at + 1) {
                        self.behind(*next);
                    }
                }
                // The second of two.
                State::Closing => self.state = State::Inside,
            }
        }
        self.before = Some(*last);
    }

    /// What follows a quote in a quoted field.
    fn behind(&mut self, next: u8) {
        match next {
            b'"' => {}
            b',' | b'\r' | b'\n' => self.state = State::Outside,
            _ => {
                self.misplaced = true;
                self.state = State::Outside;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Quotes;

    /// Open and misplaced, however the bytes are cut.
    fn judge(record: &str) -> (bool, bool) {
        let whole = |cuts: &[usize]| {
            let mut quotes = Quotes::default();
            let mut begin = 0;
            for &cut in cuts.iter().chain([&record.len()]) {
                quotes.feed(&record.as_bytes()[begin..cut]);
                begin = cut;
            }
            (quotes.open(), quotes.misplaced())
        };
        let at_once = whole(&[]);
        for first in 0..=record.len() {
            for second in first..=record.len() {
                assert_eq!(whole(&[first, second]), at_once, "{record:?} cut at {first} and {second}");
            }
        }
        at_once
    }

    #[test]
    fn quotes_of_real_rows_are_where_they_belong() {
        for row in [
            "1,2,plain\n",
            "1,\"a, b\",2\r\n",
            "\"first\",2\n",
            "1,\"\",\"\"\n",
            "1,\"say \"\"x\"\"\",2\n",
            "1,\"\"\"\"\n",
            "1,\"two\nlines\",2\n",
            "1,a \"b\" c,2\n",
            "1,\"no end of line\"",
        ] {
            assert_eq!(judge(row), (false, false), "{row:?}");
        }
    }

    #[test]
    fn a_missing_quote_is_seen() {
        assert_eq!(judge("1,\"never closed\n2,3\n"), (true, false));
        // Two are missing, so that their number is even: one row's closing quote, the next one's.
        assert_eq!(judge("1,\"first name\n2,\"second name\n"), (false, true));
        assert_eq!(judge("1,\"closed\" and more,2\n"), (false, true));
    }
}
