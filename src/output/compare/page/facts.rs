//! What a careful reader asks next: cohorts in numbers, design, second opinions, what it would take, inputs.
//! In: the document. Out: tables and lists. Left to neighbours: the change row by row (`rows`).

use std::fmt::Write;

use super::picture::{class, dots};
use crate::output::compare::{CohortOut, Comparison, Request, words};
use crate::output::html::{escape, label};
use crate::text::{count, duration};

/// Runs of the table of inputs.
const INPUTS: usize = 500;
/// Letters of the sequence.
const LETTERS: usize = 200;
/// Machines.
const HOSTS: usize = 20;

/// The cohorts in numbers, and under which conditions.
pub(super) fn cohorts(page: &mut String, c: &Comparison) {
    page.push_str(
        "<h2 id=\"cohorts\">Wall time of the measured region</h2><p class=\"soft\">One sample is one run of the program, a process \
         of its own.</p><div class=\"scroll\"><table class=\"narrow\" aria-labelledby=\"cohorts\"><thead><tr><th scope=\"col\">cohort</th><th \
         scope=\"col\" class=\"n\">runs</th><th scope=\"col\" class=\"n\">median</th><th scope=\"col\" class=\"n\">p95</th><th \
         scope=\"col\" class=\"n\">median absolute deviation</th></tr></thead><tbody>",
    );
    let mut row = |name: &str, id: &Option<String>, of: &CohortOut| {
        let time = |ns: Option<f64>| ns.map_or("–".to_owned(), |ns| escape(&duration(ns)));
        let _ = write!(
            page,
            "<tr><th scope=\"row\" class=\"wrap\">{}</th><td class=\"n\">{}</td><td class=\"n\">{}</td><td \
             class=\"n\">{}</td><td class=\"n\">{}</td></tr>",
            label(&words::cohort(name, id.as_deref())),
            count(of.samples_ns.len() as u64),
            time(of.median_ns),
            time(of.p95_ns),
            time(of.mad_ns)
        );
    };
    row("baseline", &c.baseline_implementation_id, &c.baseline);
    row("candidate", &c.candidate_implementation_id, &c.candidate);
    page.push_str("</tbody></table></div>");
    if let Some(i) = &c.identity {
        let (batch, steps) = (count(i.physical_batch), count(i.accumulation_steps));
        let facts: Vec<(&str, &str)> = vec![
            ("workload", &i.workload_id),
            ("model", &i.model_id),
            ("configuration", &i.config_id),
            ("data", &i.data_id),
            ("seeds", &i.seed_policy),
            ("batch", &batch),
            ("accumulation", &steps),
            ("precision", &i.precision),
            ("device", &i.device_state),
        ];
        list(page, &facts.iter().map(|(name, value)| (*name, label(value))).collect::<Vec<_>>());
    }
}

/// Facts side by side; the values are HTML already.
fn list(page: &mut String, facts: &[(&str, String)]) {
    page.push_str("<dl class=\"facts\">");
    for (name, value) in facts {
        let _ = write!(page, "<div><dt>{name}</dt><dd>{value}</dd></div>");
    }
    page.push_str("</dl>");
}

/// How the runs were laid out.
pub(super) fn design(page: &mut String, c: &Comparison) {
    let d = &c.design;
    page.push_str(
        "<h2 id=\"design\">Order of the runs</h2><p class=\"soft\">Evidence too: what drifts while one cohort runs after the other \
         looks like a difference.</p><p class=\"sequence\">",
    );
    let total = d.sequence.chars().count();
    for stretch in d.sequence.chars().take(LETTERS).collect::<Vec<char>>().chunk_by(|a, b| a == b) {
        let class = if stretch[0] == 'A' { "a" } else { "b" };
        let _ = write!(page, "<span class=\"{class}\">{}</span>", stretch.iter().collect::<String>());
    }
    if total > LETTERS {
        let _ = write!(page, " … {} runs", count(total as u64));
    }
    page.push_str("</p>");
    let mut facts = vec![("A is the baseline, B the candidate", d.order.unwrap_or("unknown").to_owned())];
    if let Some((stretches, p)) = d.stretches.zip(d.p_so_few_stretches) {
        facts.push(("stretches of one cohort", format!("{} (so few by chance: p = {p:.3})", count(stretches as u64))));
    }
    if let Some(gap) = d.place_gap {
        facts.push(("mean place, candidate less baseline", format!("{gap:+.2} runs")));
    }
    facts.push(("drift", escape(&words::drift(d.drift.as_ref()))));
    if let Some(ratio) = d.spread_ratio {
        facts.push(("spread, candidate over baseline", format!("{ratio:.2}")));
    }
    let apart = d.baseline_outliers.len() + d.candidate_outliers.len();
    facts.push(("runs that stand apart", if apart == 0 { "none".to_owned() } else { count(apart as u64) }));
    list(page, &facts);
    page.push_str(
        "<div class=\"scroll\"><table class=\"narrow\" aria-label=\"machines\"><thead><tr><th scope=\"col\">machine</th><th \
         scope=\"col\">processor</th><th scope=\"col\" class=\"n\">baseline runs</th><th scope=\"col\" class=\"n\">candidate \
         runs</th></tr></thead><tbody>",
    );
    for host in d.hosts.iter().take(HOSTS) {
        let name = |text: &Option<String>| text.as_deref().map_or("not recorded".to_owned(), label);
        let _ = write!(
            page,
            "<tr><th scope=\"row\" class=\"wrap\">{}</th><td class=\"wrap\">{}</td><td class=\"n\">{}</td><td \
             class=\"n\">{}</td></tr>",
            name(&host.host_name),
            name(&host.cpu_model),
            host.baseline_runs,
            host.candidate_runs
        );
    }
    page.push_str("</tbody></table></div>");
    if d.hosts.len() > HOSTS {
        let _ = write!(page, "<p>Showing {HOSTS} of {}.</p>", count(d.hosts.len() as u64));
    }
}

/// Second opinions.
pub(super) fn tests(page: &mut String, c: &Comparison) {
    let tests = words::tests(c);
    if tests.is_empty() {
        return;
    }
    page.push_str(
        "<h2 id=\"tests\">Second opinions</h2><p class=\"soft\">The interval decides; none of these does.</p><div \
         class=\"scroll\"><table class=\"narrow\" aria-labelledby=\"tests\"><thead><tr><th scope=\"col\">test</th><th scope=\"col\" \
         class=\"n\">p</th><th scope=\"col\">computed</th><th scope=\"col\">with</th></tr></thead><tbody>",
    );
    for [name, p, how, more] in &tests {
        let _ = write!(
            page,
            "<tr><th scope=\"row\">{}</th><td class=\"n\">{}</td><td>{}</td><td class=\"wrap\">{}</td></tr>",
            escape(name),
            escape(p),
            escape(how),
            escape(more)
        );
    }
    page.push_str("</tbody></table></div>");
}

/// What these runs could have shown, and what it would take.
pub(super) fn sensitivity(page: &mut String, c: &Comparison) {
    let Some(s) = &c.sensitivity else { return };
    let least = s.smallest_change_percent.map_or_else(|| duration(s.smallest_change_ns), |p| format!("{p:.1} %"));
    let _ = write!(
        page,
        "<h2 id=\"sensitivity\">Runs needed</h2><p class=\"soft\">A change smaller than {} would have been inconclusive here. With \
         the spread seen here, so many {} show a change four times in five:</p><div class=\"scroll\"><table class=\"narrow\" \
         aria-labelledby=\"sensitivity\"><thead><tr><th scope=\"row\">change</th>",
        escape(&least),
        words::runs(c)
    );
    let needed = words::needed(&s.runs_needed);
    needed.iter().for_each(|(effect, _)| page.push_str(&format!("<th scope=\"col\" class=\"n\">{effect}</th>")));
    let _ = write!(page, "</tr></thead><tbody><tr><th scope=\"row\">{}</th>", words::runs(c));
    needed.iter().for_each(|(_, runs)| page.push_str(&format!("<td class=\"n\">{runs}</td>")));
    page.push_str("</tr></tbody></table></div>");
}

/// Which runs the page rests on.
pub(super) fn inputs(page: &mut String, c: &Comparison) {
    let how = match c.inputs.verification {
        "verified_bundles" => "Bundles, verified before they were read. The manifest’s SHA-256 is a bundle’s identity.",
        _ => "Raw traces: nothing proves that they are as they were recorded.",
    };
    let dots = dots(c);
    let _ = write!(
        page,
        "<h2 id=\"inputs\">Runs</h2><p class=\"soft\">{how}</p><div class=\"scroll\"><table aria-labelledby=\"inputs\"><thead><tr><th \
         scope=\"col\" class=\"n\">run</th><th scope=\"col\">cohort</th><th scope=\"col\">pair</th><th scope=\"col\">started, \
         UTC</th><th scope=\"col\" class=\"n\">wall time</th><th scope=\"col\">run id</th><th \
         scope=\"col\">manifest</th></tr></thead><tbody>"
    );
    for dot in dots.iter().take(INPUTS) {
        let run = dot.run;
        let manifest = run.manifest_sha256.as_deref().unwrap_or("–");
        let _ = write!(
            page,
            "<tr><th scope=\"row\" class=\"n\">{}</th><td>{}{}</td><td>{}</td><td>{}</td><td class=\"n\">{}{}</td><td \
             class=\"wrap\"><code>{}</code></td><td><code title=\"{}\">{}</code></td></tr>",
            dot.place,
            super::key(class(dot.side)),
            dot.side.as_str(),
            run.pair_id.as_deref().map_or("–".to_owned(), label),
            escape(run.started_at.split('.').next().unwrap_or_default().trim_end_matches('Z')).replace('T', " "),
            if dot.apart { "stands apart, " } else { "" },
            run.outer_wall_time_ns.map_or("–".to_owned(), |ns| escape(&duration(ns as f64))),
            label(&run.run_id),
            escape(manifest),
            escape(manifest.get(..12).unwrap_or(manifest)),
        );
    }
    page.push_str("</tbody></table></div>");
    if dots.len() > INPUTS {
        let _ = write!(
            page,
            "<p>Showing {} of {}; the command below gives all.</p>",
            count(INPUTS as u64),
            count(dots.len() as u64)
        );
    }
}

/// The commands that give every number.
pub(super) fn again(page: &mut String, request: &Request) {
    let [command, labels, operations] = words::commands(request);
    let _ = write!(
        page,
        "<h2 id=\"again\">The numbers</h2><p class=\"soft\">Everything that is shown here, and what had no room, as \
         JSON:</p><pre>{}</pre><p class=\"soft\">What each run has of each label and operation, for a notebook or another \
         question:</p><pre>{}\n{}</pre>",
        escape(&command),
        escape(&labels),
        escape(&operations)
    );
}
