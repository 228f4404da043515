//! A page while it is written: headings, paragraphs, tables that line up, the commands behind them; bounded in bytes.
//! In: Markdown of one line each. Out: blocks, one after the other; a table says how much of it is shown.
//! Left to neighbours: text of a trace (`markdown`), what the page says (the other modules).

use super::markdown::ABSENT;
use crate::text::count;

/// Bytes of a table while the page is short, and once it is long; the first row is always there.
const ROOMY: usize = 4 << 10;
const TIGHT: usize = 1 << 10;
/// From here on a page is long.
const LONG: usize = 32 << 10;
/// Columns wider than this are not padded: one long label must not push all others off the screen.
const WIDEST: usize = 44;

/// Rows of cells; a cell is Markdown already.
pub(in crate::output) struct Table {
    titles: Vec<&'static str>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A column whose title begins with `>` is right-aligned: numbers.
    pub(in crate::output) fn new(titles: &[&'static str]) -> Self {
        Self { titles: titles.to_vec(), rows: Vec::new() }
    }

    pub(in crate::output) fn push(&mut self, cells: Vec<String>) {
        debug_assert_eq!(cells.len(), self.titles.len(), "a cell for each of {:?}", self.titles);
        self.rows.push(cells);
    }

    pub(in crate::output) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Leaves out the columns in which nothing was recorded.
    fn without_absent(mut self) -> Self {
        let holds = |column: usize| self.rows.iter().any(|row| row[column] != ABSENT && !row[column].is_empty());
        let kept: Vec<bool> = (0..self.titles.len()).map(|column| column == 0 || holds(column)).collect();
        let keep = |cells: &mut Vec<_>| {
            let mut kept = kept.iter();
            cells.retain(|_| *kept.next().unwrap_or(&true));
        };
        self.rows.iter_mut().for_each(keep);
        let mut kept = kept.iter();
        self.titles.retain(|_| *kept.next().unwrap_or(&true));
        self
    }

    /// The table's text in at most `budget` bytes or one row, and how many rows that shows.
    fn render(self, budget: usize) -> (String, usize) {
        let table = self.without_absent();
        let cost = |row: &Vec<String>| row.iter().map(|cell| cell.len() + 3).sum::<usize>() + 2;
        let mut left = budget;
        let fits = |row: &&Vec<String>| match left.checked_sub(cost(row)) {
            Some(rest) => {
                left = rest;
                true
            }
            None => false,
        };
        let shown = table.rows.iter().take_while(fits).count().max(1).min(table.rows.len());
        let padded = table.lines(shown, true);
        // Lined up where that is cheap.
        let text = if padded.len() <= 2 * budget { padded } else { table.lines(shown, false) };
        (text, shown)
    }

    fn lines(&self, shown: usize, pad: bool) -> String {
        let rows = &self.rows[..shown];
        let columns: Vec<(bool, &str)> =
            self.titles.iter().map(|t| t.strip_prefix('>').map_or((false, *t), |t| (true, t))).collect();
        let wide = |text: &str| text.chars().count();
        let width = |(column, (_, title)): (usize, &(bool, &str))| {
            let cells = rows.iter().map(|row| wide(&row[column])).filter(|w| *w <= WIDEST);
            if pad { cells.chain([wide(title), 3]).max().unwrap_or(3) } else { 0 }
        };
        let widths: Vec<usize> = columns.iter().enumerate().map(width).collect();
        let line = |cells: &mut dyn Iterator<Item = &str>| -> String {
            let mut text = String::from("|");
            for ((cell, (right, _)), width) in cells.zip(&columns).zip(&widths) {
                let space = " ".repeat(width.saturating_sub(wide(cell)));
                let (left, right) = if *right { (space.as_str(), "") } else { ("", space.as_str()) };
                text.extend([" ", left, cell, right, " |"]);
            }
            text + "\n"
        };
        let rule = columns.iter().zip(&widths).map(|((right, _), width)| {
            let dashes = "-".repeat(width.max(&3) - 1);
            if *right { format!("{dashes}:") } else { format!(":{dashes}") }
        });
        let rule: Vec<String> = rule.collect();
        let mut text = line(&mut columns.iter().map(|(_, title)| *title));
        text += &line(&mut rule.iter().map(String::as_str));
        text.extend(rows.iter().map(|row| line(&mut row.iter().map(String::as_str))));
        text
    }
}

/// The command that gives the rows of a query kind.
pub(in crate::output) fn kind(name: &str) -> String {
    format!("`candle-graph query BUNDLE --kind {name}`")
}

/// The command that gives the rows of a file of queries/.
pub(in crate::output) fn sql(name: &str) -> String {
    format!("`candle-graph sql BUNDLE --query {name}`")
}

/// A page while it is written.
#[derive(Default)]
pub(in crate::output) struct Page {
    text: String,
}

impl Page {
    /// Bytes that a table may take now.
    fn budget(&self) -> usize {
        if self.text.len() < LONG { ROOMY } else { TIGHT }
    }

    pub(in crate::output) fn heading(&mut self, level: usize, text: &str) {
        self.text.extend(["#".repeat(level).as_str(), " ", text, "\n\n"]);
    }

    /// One paragraph; its texts are Markdown already.
    pub(in crate::output) fn paragraph(&mut self, text: &str) {
        self.text.extend([text, "\n\n"]);
    }

    /// What a reader must not miss: paragraphs that are set off.
    pub(in crate::output) fn caution(&mut self, paragraphs: &[String]) {
        self.text.extend(["> [!CAUTION]\n> ", &paragraphs.join("\n>\n> "), "\n\n"]);
    }

    /// Points of a list.
    pub(in crate::output) fn points(&mut self, points: &[String]) {
        let mut left = self.budget();
        for (index, point) in points.iter().enumerate() {
            if index > 0 && point.len() > left {
                self.text.push_str(&format!("- Showing {index} of {}.\n", points.len()));
                break;
            }
            left = left.saturating_sub(point.len());
            self.text.extend(["- ", point, "\n"]);
        }
        if !points.is_empty() {
            self.text.push('\n');
        }
    }

    /// A table under its caption: what a row is, in what order, and how many of `total` there are.
    pub(in crate::output) fn list(&mut self, caption: &str, total: usize, table: Table) {
        let budget = self.budget();
        self.list_within(budget, caption, total, table);
    }

    /// As [`Page::list`], in at most `budget` bytes or one row.
    pub(in crate::output) fn list_within(&mut self, budget: usize, caption: &str, total: usize, table: Table) {
        if table.is_empty() {
            return;
        }
        let (text, shown) = table.render(budget);
        let part = format!(" Showing {} of {}.", count(shown as u64), count(total as u64));
        let part = if shown < total { part.as_str() } else { "" };
        if !caption.is_empty() || !part.is_empty() {
            self.paragraph(format!("{caption}{part}").trim_start());
        }
        self.text.extend([text.as_str(), "\n"]);
    }

    /// The commands that give the numbers above again.
    pub(in crate::output) fn again(&mut self, commands: &[String]) {
        self.text.extend(["↳ ", &commands.join(" · "), "\n\n"]);
    }

    pub(in crate::output) fn finish(self) -> String {
        format!("{}\n", self.text.trim_end())
    }
}

#[cfg(test)]
mod tests {
    use super::{ABSENT, Page, Table};

    #[test]
    fn a_table_lines_up_and_says_what_it_leaves_out() {
        let mut table = Table::new(&["span", ">self", ">cpu"]);
        for (name, time) in [("`a`", "1 ns"), ("`long_name`", "12 µs")] {
            table.push(vec![name.into(), time.into(), ABSENT.into()]);
        }
        let mut page = Page::default();
        page.list("**Spans.**", 9, table);
        let expected = "**Spans.** Showing 2 of 9.\n\n\
                        | span        |  self |\n| :---------- | ----: |\n| `a`         |  1 ns |\n| `long_name` | 12 µs |\n";
        assert_eq!(page.finish(), expected);
    }
}
