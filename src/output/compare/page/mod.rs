//! A comparison as a page for a person: the verdict, the picture, the rows that explain the change.
//! In: the document, and how it was asked for. Out: HTML of bounded size. Left to neighbours: drawing (`picture`, `strip`),
//! tables (`rows`, `facts`), what may be said (the document).

mod facts;
mod picture;
mod rows;
mod strip;

use std::fmt::Write;

pub(super) use picture::dots;

use super::{Comparison, Request, words};
use crate::analysis::statistics::Side;
use crate::output::html::{escape, head, label};
use crate::text::count;

/// Cautions and reasons that are listed.
const LISTED: usize = 40;

/// The page.
pub(super) fn render(c: &Comparison, request: &Request) -> String {
    let (verdict, rest) = words::verdict(c);
    let title = format!("{} – comparison", escape(verdict));
    let mut page = head(&title, include_str!("page.css"));
    lead(&mut page, c, verdict, rest);
    chart(&mut page, c);
    notes(&mut page, c);
    facts::cohorts(&mut page, c);
    rows::all(&mut page, c);
    rows::values(&mut page, c);
    facts::design(&mut page, c);
    facts::tests(&mut page, c);
    facts::sensitivity(&mut page, c);
    facts::inputs(&mut page, c);
    facts::again(&mut page, request);
    page.push_str("</main></body></html>\n");
    page
}

/// The verdict in words.
fn lead(page: &mut String, c: &Comparison, verdict: &str, rest: &str) {
    let of = |side: &str, id: &Option<String>, class: &str| {
        let id = id.as_deref().map_or(String::new(), |id| format!(" <span class=\"label\">{}</span>", label(id)));
        format!("<span class=\"key\">{}<span class=\"side\">{side}</span>{id}</span>", key(class))
    };
    let workload = c.identity.as_ref().map_or(String::new(), |i| format!("{} · ", label(&i.workload_id)));
    let (b, n) = (c.inputs.baseline.len() as u64, c.inputs.candidate.len() as u64);
    let runs = match (c.paired, b == n) {
        (true, _) => format!("{} pairs of runs", count(b)),
        (false, true) => format!("{} runs each", count(b)),
        (false, false) => format!("{} and {} runs", count(b), count(n)),
    };
    let (first, rest) = (escape(verdict), capital(rest));
    let _ = write!(
        page,
        "<main><p class=\"lead\">{workload}{runs}</p><h1 class=\"{}\">{first}</h1><p class=\"rest\">{}</p><p class=\"lead\">{}{}\
         </p>",
        escape(c.verdict),
        escape(&rest),
        of("baseline", &c.baseline_implementation_id, "a"),
        of("candidate", &c.candidate_implementation_id, "b"),
    );
}

/// `text` with its first letter in upper case: it follows a heading now, not a colon.
fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or(String::new(), |first| first.to_uppercase().chain(chars).collect())
}

/// A cohort's mark beside words.
fn key(class: &str) -> String {
    let side = if class == "a" { Side::Baseline } else { Side::Candidate };
    format!("<svg viewBox=\"0 0 14 12\" aria-hidden=\"true\">{}/></svg>", picture::mark(side, 7.0, 6.0, 4.6))
}

/// The picture and the interval below it.
fn chart(page: &mut String, c: &Comparison) {
    let (runs, delta) = (picture::svg(c), strip::whole(c));
    if runs.is_empty() {
        page.push_str(
            "<figure class=\"wide\"><p class=\"soft\">No wall time is known: there is nothing to draw.</p></figure>",
        );
        return;
    }
    let _ = write!(page, "<figure class=\"wide\">{runs}{delta}");
    let how = words::how(c).map(|how| format!("Interval: {how}."));
    let paired = c.paired.then(|| "Thin lines join the runs of a pair.".to_owned());
    let said: Vec<String> = paired.into_iter().chain(how).collect();
    if !said.is_empty() {
        let _ = write!(page, "<p class=\"soft small\">{}</p>", escape(&said.join(" ")));
    }
    page.push_str("</figure>");
}

/// What to mind, and why there is no verdict.
fn notes(page: &mut String, c: &Comparison) {
    if !c.cautions.is_empty() {
        page.push_str("<h2 id=\"cautions\">What to mind</h2><ul class=\"mind\">");
        for caution in c.cautions.iter().take(LISTED) {
            let _ = write!(page, "<li>{}", escape(&capital(&caution.message)));
            if caution.code == "outliers" {
                let called: Vec<String> = dots(c).iter().filter(|d| d.apart).take(LISTED).map(outlier).collect();
                let _ = write!(page, ": {}", called.join(", "));
            }
            page.push_str(".</li>");
        }
        page.push_str("</ul>");
    }
    if !c.reasons.is_empty() {
        page.push_str("<h2 id=\"reasons\">Why there is no verdict</h2><dl class=\"reasons\">");
        for reason in c.reasons.iter().take(LISTED) {
            let _ = write!(page, "<dt><code>{}</code></dt><dd>{}</dd>", reason.code, escape(&reason.message));
        }
        page.push_str("</dl>");
    }
}

fn outlier(dot: &picture::Dot<'_>) -> String {
    let wall = dot.run.outer_wall_time_ns.map_or("–".to_owned(), |ns| crate::text::duration(ns as f64));
    format!("run {} of the {} (<code>{}</code>, {wall})", dot.place, dot.side.as_str(), label(&dot.run.run_id))
}
