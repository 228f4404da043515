//! The rows that explain the change: labels, operations, memory, gradients, values.
//! In: the document's lists. Out: tables, each row with its interval about zero. Left to neighbours: the graphic
//! (`strip`), in which order rows come (`change`).

use std::fmt::Write;

use super::strip::{Shared, shift};
use crate::output::compare::words::{self, Line, List, Unit};
use crate::output::compare::{Comparison, TensorRow};
use crate::output::documents::Bounded;
use crate::output::html::{escape, label};
use crate::output::report::markdown::value;
use crate::text::count;

/// Rows of a table.
const ROWS: usize = 25;
/// Labels that one cohort alone has.
const NAMED: usize = 12;

/// Every list of changes.
pub(super) fn all(page: &mut String, c: &Comparison) {
    for list in words::lists(c) {
        table(page, c, &list);
    }
}

/// How much of a list is there.
fn part(shown: usize, total: usize) -> String {
    if shown == total {
        return String::new();
    }
    format!(" Showing {} of {}; the command below gives every row.", count(shown as u64), count(total as u64))
}

fn table(page: &mut String, c: &Comparison, list: &List<'_>) {
    let lines = &list.lines[..list.lines.len().min(ROWS)];
    let shared = Shared::of(list.unit, lines.iter().map(|line| line.change));
    let (less, more) = list.unit.sides();
    let shares = lines.iter().any(|line| line.change.share_of_change.is_some());
    let tested = lines.iter().any(|line| line.change.p.is_some());
    // Of cohorts that may not be compared no row has an interval, nor a word in its place.
    let said = lines.iter().any(|line| line.change.without_interval != Some("ineligible"));
    let order = match (tested, shares) {
        (true, true) => " What certainly changed most comes first; its share is of the change of the whole.",
        (true, false) => " What certainly changed most comes first.",
        _ => "",
    };
    let _ = write!(
        page,
        "<h2 id=\"{0}\">{1}</h2><p class=\"soft\">{2}{order}{3}</p><div class=\"scroll\"><table class=\"rows\" \
         aria-labelledby=\"{0}\"><thead><tr><th scope=\"col\">{4}</th><th scope=\"col\" class=\"n\">baseline</th><th \
         scope=\"col\" class=\"n\">candidate</th><th scope=\"col\" class=\"n\">change</th><th scope=\"col\" class=\"n\"></th>",
        list.id,
        list.title,
        list.about,
        part(lines.len(), list.total),
        list.column
    );
    if shares {
        page.push_str("<th scope=\"col\" class=\"n\">share</th>");
    }
    let head = shared.as_ref().map_or(String::new(), Shared::head);
    let _ = write!(
        page,
        "<th scope=\"col\" class=\"graph\"><span class=\"sides\"><span>◂ {less}</span><span>{more} ▸</span></span>{head}</th>\
         {}",
        if said { "<th scope=\"col\" class=\"n\">interval</th>" } else { "" }
    );
    if tested {
        page.push_str("<th scope=\"col\" class=\"n\">p (Holm)</th>");
    }
    page.push_str("</tr></thead><tbody>");
    for line in lines {
        row(page, c, list.unit, line, shared.as_ref(), [shares, said, tested]);
    }
    page.push_str("</tbody></table></div>");
}

fn row(
    page: &mut String,
    c: &Comparison,
    unit: Unit,
    line: &Line<'_>,
    shared: Option<&Shared>,
    [shares, said, tested]: [bool; 3],
) {
    let change = line.change;
    let dash = || "–".to_owned();
    let show = |v: Option<f64>| v.map_or_else(dash, |v| escape(&unit.show(v)));
    let percent = |v: Option<f64>, digits: usize| v.map_or(String::new(), |v| format!("{v:+.digits$} %"));
    let _ = write!(
        page,
        "<tr><th scope=\"row\" class=\"wrap\"><span class=\"label\">{}</span></th><td class=\"n\">{}</td><td \
         class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n soft\">{}</td>",
        label(&line.name),
        show(change.baseline.median),
        show(change.candidate.median),
        shift(change).map_or_else(dash, |d| escape(&unit.signed(d))),
        percent(change.median_delta_percent, 1)
    );
    if shares {
        let share = change.share_of_change.map(|s| format!("{:.0} %", (100.0 * s).round() + 0.0));
        let _ = write!(page, "<td class=\"n\">{}</td>", share.unwrap_or_default());
    }
    let runs = (c.inputs.baseline.len(), c.inputs.candidate.len());
    let _ = write!(page, "<td class=\"graph\">{}</td>", shared.map_or(String::new(), |shared| shared.row(change)));
    if said {
        let _ = write!(page, "<td class=\"n soft\">{}</td>", escape(&words::interval(change, unit, runs)));
    }
    if tested {
        let _ = write!(page, "<td class=\"n\">{}</td>", change.p_holm.map_or_else(dash, |p| format!("{p:.3}")));
    }
    page.push_str("</tr>");
}

/// Whether both compute the same.
pub(super) fn values(page: &mut String, c: &Comparison) {
    let stats = &c.tensor_stats;
    if stats.matched.is_empty() && stats.unmatched_a.total + stats.unmatched_b.total == 0 {
        return;
    }
    let shown = stats.matched.len().min(ROWS);
    let _ = write!(
        page,
        "<h2 id=\"values\">Values</h2><p class=\"soft\">Whether both compute the same: candidate over baseline, 1 is no change. A \
         label’s summaries are averaged within a run, then the runs are.{}</p>",
        part(shown, stats.matched_cut.total)
    );
    if shown > 0 {
        page.push_str(
            "<div class=\"scroll\"><table class=\"rows\" aria-labelledby=\"values\"><thead><tr><th scope=\"col\">label</th><th \
             scope=\"col\" class=\"n\">rms, baseline</th><th scope=\"col\" class=\"n\">candidate</th><th scope=\"col\" \
             class=\"n\">ratio</th><th scope=\"col\" class=\"n\">largest, ratio</th><th scope=\"col\" class=\"n\">not finite, \
             baseline</th><th scope=\"col\" class=\"n\">candidate</th><th scope=\"col\" class=\"n\">runs</th></tr></thead><tbody>",
        );
        stats.matched.iter().take(shown).for_each(|row| tensor(page, row));
        page.push_str("</tbody></table></div>");
    }
    alone(page, "baseline", &stats.unmatched_a);
    alone(page, "candidate", &stats.unmatched_b);
}

fn tensor(page: &mut String, row: &TensorRow) {
    let number = |v: Option<f64>| v.map_or("–".to_owned(), value);
    let ratio = |v: Option<f64>| v.map_or("–".to_owned(), |r| format!("{r:.4}"));
    let bad = if row.non_finite_changed { " bad" } else { "" };
    let _ = write!(
        page,
        "<tr><th scope=\"row\" class=\"wrap\"><span class=\"label\">{}</span></th><td class=\"n\">{}</td><td \
         class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n{bad}\">{}</td><td \
         class=\"n{bad}\">{}</td><td class=\"n\">{} / {}</td></tr>",
        label(&row.label),
        number(row.rms_a),
        number(row.rms_b),
        ratio(row.rms_ratio),
        ratio(row.abs_max_ratio),
        row.non_finite_a,
        row.non_finite_b,
        row.runs_a,
        row.runs_b
    );
}

fn alone(page: &mut String, side: &str, labels: &Bounded<String>) {
    if labels.total == 0 {
        return;
    }
    let names: Vec<String> =
        labels.rows.iter().take(NAMED).map(|name| format!("<span class=\"label\">{}</span>", label(name))).collect();
    let more = labels.total.saturating_sub(names.len());
    let more = if more > 0 { format!(" and {} more", count(more as u64)) } else { String::new() };
    let _ = write!(page, "<p>Only in the {side}: {}{more}.</p>", names.join(", "));
}
