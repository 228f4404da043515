//! Values: gradients by state and family, tensor statistics, and first of all what is not finite.
//! In: the overview and a few queries. Out: tables. Left to neighbours: whether a contract holds (`verdict`).

use super::markdown::{label, sentence, several, value, word};
use super::page::{Page, Table, kind, sql};
use super::{Source, absent_or, float, int, name, number, plain, shape, text};
use crate::error::Result;
use crate::evidence::Row as First;
use crate::output::documents::Bounded;
use crate::output::rows::Row;
use crate::text::count;

fn norm(row: &Row, column: &str) -> String {
    absent_or(float(row, column).map(value))
}

/// States, families, and the parameters whose gradient is not present.
pub(super) fn gradients(page: &mut Page, source: &Source<'_>) -> Result<()> {
    page.heading(3, "Gradients");
    if let Some(why) = source.absent("gradient_coverage") {
        page.paragraph(&why);
        return Ok(());
    }
    let states = &source.overview.gradients.states;
    let mut table = Table::new(&["state", ">gradients", ">smallest norm", ">largest norm"]);
    for row in states {
        let norms = vec![norm(row, "min_norm"), norm(row, "max_norm")];
        table.push([vec![plain(row, "state"), number(row, "gradients")], norms].concat());
    }
    page.list("**By state.**", states.len(), table);
    page.again(&[sql("gradient_states")]);
    let families = source.rows("gradient_families", None)?;
    let mut table = Table::new(&[
        "family",
        "promised",
        ">members",
        ">present",
        ">zero",
        ">missing",
        ">not finite",
        ">unrecorded",
        ">norm",
        "verdict",
    ]);
    for row in &families.rows {
        let family = text(row, "family").map(label);
        let root = || text(row, "root").map(|root| format!("root {}", label(root)));
        table.push(vec![
            absent_or(family.or_else(root)),
            promised(row),
            number(row, "members"),
            number(row, "present"),
            number(row, "zero"),
            number(row, "missing"),
            number(row, "non_finite"),
            number(row, "unrecorded"),
            // The last bits of a sum over many rows depend on how many cores added it.
            if source.large { absent_or(None) } else { norm(row, "norm_l2") },
            verdict(row),
        ]);
    }
    let normed = !source.large && families.rows.iter().any(|row| float(row, "norm_l2").is_some());
    let caption = if normed { "**By family**, with the L2 norm of those present together." } else { "**By family.**" };
    page.list(caption, families.total, table);
    page.again(&[kind("gradient-families")]);
    let without = source.rows("gradient_problems", Some(source.overview.gradients.not_present.total))?;
    let mut table = Table::new(&["root", "parameter", "state"]);
    without.rows.iter().for_each(|row| table.push(vec![name(row, "root"), name(row, "key"), plain(row, "state")]));
    if !table.is_empty() {
        page.list("**Not present.** A frozen parameter is meant to have none.", without.total, table);
        page.again(&[sql("gradient_problems"), kind("dead-gradients")]);
    }
    if source.overview.counts.tensor_stat_non_finite_events == 0 && source.evidence.has_gradients("non_finite")? {
        first_seen(page, source)?;
        page.again(&[kind("first-non-finite")]);
    }
    Ok(())
}

/// What the contract promises of a family.
fn promised(row: &Row) -> String {
    match (text(row, "expectation"), int(row, "min_present")) {
        (None, _) => "nothing".to_owned(),
        (Some("inactive"), _) => "none".to_owned(),
        (Some("data_conditional"), Some(least)) => format!("none or at least {}", count(least.unsigned_abs())),
        (Some(_), Some(least)) => format!("at least {}", count(least.unsigned_abs())),
        (Some(expectation), None) => word(expectation),
    }
}

fn verdict(row: &Row) -> String {
    match (text(row, "state"), text(row, "reason")) {
        (Some("violated"), Some(why)) => format!("**violated**: {}", sentence(why)),
        (Some(state), _) => word(state),
        (None, _) => absent_or(None),
    }
}

/// What is not finite, then the statistics in order of recording.
pub(super) fn statistics(page: &mut Page, source: &Source<'_>) -> Result<()> {
    page.heading(3, "Tensor statistics");
    let counts = &source.overview.counts;
    if counts.events.tensor_stats == 0 {
        page.paragraph("Not recorded: the program summarised no tensor.");
        return Ok(());
    }
    let bad = counts.tensor_stat_non_finite_events.unsigned_abs();
    let all = several(counts.events.tensor_stats, "statistic", "statistics");
    if bad == 0 {
        page.paragraph(&format!("{all}, every element of them finite."));
    } else {
        page.paragraph(&format!("**{}** of {all} met elements that are not finite.", count(bad)));
        first_seen(page, source)?;
        not_finite(page, &source.rows("non_finite_stats", None)?);
    }
    let found = source.rows("tensor_stats", None)?;
    let mut table = Table::new(&["label", "shape", "dtype", ">elements", ">mean", ">RMS", ">largest magnitude"]);
    let (mut scalars, mut rests) = (false, false);
    for row in &found.rows {
        let scalar = int(row, "elements") == Some(1);
        let bad = int(row, "non_finite").is_some_and(|n| n > 0);
        scalars |= scalar;
        rests |= bad && float(row, "finite_mean").is_some();
        let of = |column: &str, finite: &str| match bad {
            // Of the rest, and marked so: a mean of some elements is not the mean.
            true => absent_or(float(row, finite).map(|x| format!("{} †", value(x)))),
            false => norm(row, column),
        };
        // A scalar is its mean; two more columns would only repeat it without its sign.
        let spread = |column: &str, finite: &str| if scalar { String::new() } else { of(column, finite) };
        table.push(vec![
            name(row, "label"),
            shape(row, "shape"),
            plain(row, "dtype"),
            number(row, "elements"),
            of("mean", "finite_mean"),
            spread("rms", "finite_rms"),
            spread("abs_max", "finite_abs_max"),
        ]);
    }
    let scalars = if scalars { " The mean of a scalar is its value." } else { "" };
    let rests = if rests { " †: of the finite elements alone." } else { "" };
    page.list(&format!("**In order of recording.**{scalars}{rests}"), found.total, table);
    page.again(&[kind("tensor-stats")]);
    Ok(())
}

/// Where the first value that is not finite was seen, what made it, what was finite before, what followed.
fn first_seen(page: &mut Page, source: &Source<'_>) -> Result<()> {
    let first = First::first(&source.evidence.top("first_non_finite")?);
    if !first.exists() {
        return Ok(());
    }
    let named = |column: &str| Some(first.text(column)).filter(|text| !text.is_empty()).map(|text| label(&text));
    let what = if first.text("kind") == "gradient" { "gradient " } else { "" };
    let mut sentences = vec![format!("First seen in {what}**{}**", label(&first.text("label")))];
    sentences.extend(named("span_name").map(|span| format!(", recorded in {span}")));
    sentences.extend(named("made_by_op").map(|op| format!(", made by {op}")));
    sentences.push(".".to_owned());
    sentences.push(match (named("last_finite_label"), first.text("path").as_str()) {
        (Some(before), "data_edges") => format!(" What it was made from was last finite in {before}."),
        (Some(before), _) => format!(" Last finite before it, by order of recording: {before}."),
        (None, _) => " Nothing finite was recorded before it.".to_owned(),
    });
    let (affected, after) = (first.int("affected_after"), first.int("facts_after"));
    if after > 0 {
        let [affected, after] = [affected, after].map(|n| count(n.unsigned_abs()));
        sentences
            .push(format!(" Of the {after} statistics and gradients recorded after it, {affected} are not finite."));
    }
    page.paragraph(&sentences.concat());
    Ok(())
}

fn not_finite(page: &mut Page, found: &Bounded<Row>) {
    let mut table = Table::new(&["label", "in span", ">elements", ">not finite", ">NaN", ">+∞", ">−∞"]);
    for row in &found.rows {
        let place = vec![name(row, "label"), name(row, "span_name"), number(row, "elements")];
        let counts = ["non_finite", "nan", "pos_inf", "neg_inf"].map(|column| number(row, column));
        table.push([place, counts.to_vec()].concat());
    }
    page.list(
        "**Not finite**, in order of recording: the first is where such a value was first seen, which need not be where it \
         arose.",
        found.total,
        table,
    );
    page.again(&[kind("first-non-finite"), sql("non_finite_stats")]);
}
