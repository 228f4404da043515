//! A series as a page for a person: one HTML file that fetches nothing and runs nothing.
//! In: the document, and how it was asked for. Out: HTML of bounded size. Left to neighbours: the plots (`plot`) and what
//! they say (`panels`).

use std::fmt::Write;

use super::panels::{self, Panel};
use super::plot::{self, Reading, Size};
use super::{Request, Series};
use crate::output::html::{escape, head, label};
use crate::output::terminal::shell_word;
use crate::text::{count, duration};

/// Plots on a page, that of the wall time apart.
const PLOTS: usize = 199;
/// Rows of the table of inputs.
const INPUTS: usize = 500;
/// Series that the top of the page names for what they lack.
const NAMED: usize = 8;
/// Bundles that a command repeats.
const REPEATED: usize = 12;

const SMALL: Size = Size { width: 360.0, height: 170.0 };
const WIDE: Size = Size { width: 1150.0, height: 226.0 };

/// One kind of plots: how many there are, and how to make the next.
struct Section<'s> {
    id: &'static str,
    title: &'static str,
    one: &'static str,
    about: String,
    labels: Vec<&'s str>,
    make: fn(&Series, &str) -> Option<Panel>,
}

fn sections<'s>(series: &'s Series, at: &str) -> [Section<'s>; 3] {
    let stats = |scalars: bool| {
        let all = series.tensor_stats.iter();
        all.filter(|(_, points)| panels::are_scalars(points) == scalars).map(|(label, _)| label.as_str()).collect()
    };
    [
        Section {
            id: "gradients",
            title: "Gradient norms",
            one: "gradient",
            about: format!("The L2 norm of each parameter’s gradient, over captured {at}s."),
            labels: series.gradients.keys().map(String::as_str).collect(),
            make: |series, label| Some(panels::gradient(series, label, series.gradients.get(label)?)),
        },
        Section {
            id: "scalars",
            title: "Scalars",
            one: "scalar",
            about: format!("Values that the program recorded under a label, over captured {at}s."),
            labels: stats(true),
            make: |series, label| Some(panels::scalar(series, label, series.tensor_stats.get(label)?)),
        },
        Section {
            id: "tensors",
            title: "Tensor statistics",
            one: "tensor",
            about: format!(
                "<span class=\"key\"><svg viewBox=\"0 0 22 12\"><path class=\"main\" d=\"M1 6h20\"/></svg>root mean \
                 square</span><span class=\"key\"><svg viewBox=\"0 0 22 12\"><path class=\"other\" d=\"M1 6h20\"/></svg>\
                 largest absolute value</span>over captured {at}s."
            ),
            labels: stats(false),
            make: |series, label| Some(panels::tensor(series, label, series.tensor_stats.get(label)?)),
        },
    ]
}

/// Room for each of several wants: the small ones whole, the large ones alike.
fn shares<const N: usize>(wants: [usize; N], mut room: usize) -> [usize; N] {
    let mut shares = [0; N];
    let mut order: Vec<usize> = (0..N).collect();
    order.sort_by_key(|&i| wants[i]);
    for (done, index) in order.into_iter().enumerate() {
        shares[index] = wants[index].min(room / (N - done));
        room -= shares[index];
    }
    shares
}

/// The page.
pub fn render(series: &Series, request: &Request) -> String {
    let at = panels::unit_of_steps(series);
    let steps = panels::steps(series);
    let sections = sections(series, at);
    let shown = shares(sections.each_ref().map(|s| s.labels.len()), PLOTS);
    let mut incomplete = Vec::new();
    let mut body = String::new();
    let wall = panels::wall(series);
    let _ = write!(body, "<h2 id=\"wall\">Outer wall time</h2><p class=\"soft\">{}</p>", about_wall(series, at));
    card(&mut body, &wall, WIDE, &steps, at);
    for (section, shown) in sections.iter().zip(shown) {
        let total = section.labels.len();
        if total == 0 {
            continue;
        }
        let _ = write!(body, "<h2 id=\"{}\">{}</h2><p class=\"soft\">{}</p>", section.id, section.title, section.about);
        if shown < total {
            let _ = write!(
                body,
                "<p>Showing {} of {}, in order of their labels. The rest: <code>--label-prefix</code> narrows the page, and \
                 the command at its end gives every number.</p>",
                count(shown as u64),
                count(total as u64)
            );
        }
        body.push_str("<div class=\"plots\">");
        for name in &section.labels[..shown] {
            let Some(panel) = (section.make)(series, name) else { continue };
            card(&mut body, &panel, SMALL, &steps, at);
            let gaps = panels::gaps(&panel, at);
            if !gaps.is_empty() {
                let bad = panel.main.iter().any(|p| p.reading == Reading::NotFinite);
                incomplete.push((!bad, format!("<b class=\"label\">{}</b> {}", label(name), escape(&gaps.join("; ")))));
            }
        }
        body.push_str("</div>");
    }
    inputs(&mut body, series, at);
    again(&mut body, request);
    let mut page = String::with_capacity(body.len() + 16_384);
    let title = label(&series.entrypoint);
    page.push_str(&head(&format!("{title} – series"), include_str!("page.css")));
    let _ = writeln!(page, "<h1>{title}</h1>");
    // What is not finite before what is absent.
    incomplete.sort_by_key(|(absent, _)| *absent);
    lead(&mut page, series, &sections, at);
    notes(&mut page, &incomplete);
    page.push_str(&body);
    page.push_str("</body></html>\n");
    page
}

/// What this is a series of, and where on the page what is.
fn lead(page: &mut String, series: &Series, sections: &[Section<'_>; 3], at: &str) {
    let captures = series.inputs.len() as u64;
    let range = match (series.inputs.first(), series.inputs.last()) {
        (Some(a), Some(b)) if captures > 1 => format!("captures, {at} {} to {}", a.capture_step, b.capture_step),
        (Some(a), _) => format!("capture, {at} {}", a.capture_step),
        _ => "captures".to_owned(),
    };
    let mut devices: Vec<&str> = series.inputs.iter().map(|i| i.device.as_str()).collect();
    devices.sort_unstable();
    devices.dedup();
    let devices = match devices[..] {
        [one] => format!(", on {}", label(one)),
        _ => format!(", on {} devices", devices.len()),
    };
    let doing = if series.phase == "train" { "training" } else { "inference" };
    let _ = write!(page, "<p class=\"lead\">{} {range}, of {doing}{devices}.", count(captures));
    if let Some(prefix) = &series.label_prefix {
        let _ = write!(page, " Labels that begin with <span class=\"label\">{}</span>.", label(prefix));
    }
    page.push_str("</p><p class=\"lead\"><a href=\"#wall\">outer wall time</a>");
    for section in sections.iter().filter(|s| !s.labels.is_empty()) {
        let n = section.labels.len() as u64;
        let plural = if n == 1 { "" } else { "s" };
        let _ = write!(page, " · <a href=\"#{}\">{} {}{plural}</a>", section.id, count(n), section.one);
    }
    page.push_str(" · <a href=\"#inputs\">inputs</a> · <a href=\"#again\">the numbers</a></p>");
}

/// The marks of a plot beside words.
const BAD: &str = "<svg viewBox=\"0 0 14 12\"><path class=\"bad\" d=\"M2.5 10.5h9l-4.5 -8z\"/></svg>";
const GONE: &str = "<svg viewBox=\"0 0 14 12\"><path class=\"gone\" d=\"M4 3.5l6 6m0 -6l-6 6\"/></svg>";

/// What is not finite or absent, first of all.
fn notes(page: &mut String, incomplete: &[(bool, String)]) {
    if incomplete.is_empty() {
        return;
    }
    page.push_str("<ul class=\"notes\">");
    for (absent, note) in incomplete.iter().take(NAMED) {
        let mark = if *absent { GONE } else { BAD };
        let _ = write!(page, "<li>{}{note}</li>", mark.replace("<svg", "<svg class=\"mark\""));
    }
    if incomplete.len() > NAMED {
        let more = count((incomplete.len() - NAMED) as u64);
        let _ = write!(page, "<li>and {more} more plots below with values that are not finite or absent</li>");
    }
    let _ = write!(
        page,
        "</ul><p class=\"soft\"><span class=\"key\">{BAD}not finite</span><span class=\"key\">{GONE}absent</span>A line breaks \
         where there is no number.</p>"
    );
}

fn about_wall(series: &Series, at: &str) -> String {
    let mut modes: Vec<&str> = series.inputs.iter().map(|i| i.timing_mode).collect();
    modes.sort_unstable();
    modes.dedup();
    let how = match modes[..] {
        ["device_synchronized"] => "measured to the end of the device’s work",
        ["host"] => "measured on the host",
        _ => {
            "measured on the host in some captures and to the end of the device’s work in others, which do not compare"
        }
    };
    format!("Wall time of the measured region of each captured {at}, {how}.")
}

/// A plot with its title before and its words after.
fn card(out: &mut String, panel: &Panel, size: Size, steps: &[i64], at: &str) {
    let wide = if size.width > SMALL.width { " class=\"wide\"" } else { "" };
    let _ = write!(
        out,
        "<figure{wide}><figcaption><span class=\"label\">{}</span><span class=\"what\">{}</span></figcaption>{}",
        label(&panel.title),
        label(&panel.what),
        plot::svg(size, steps, &panel.main, &panel.other, &panels::sentence(panel, at))
    );
    let facts = panels::facts(panel);
    if !facts.is_empty() {
        out.push_str("<dl>");
        for (name, step, number) in facts {
            let number = escape(&panel.unit.show(number));
            let _ = write!(out, "<div><dt>{name}</dt><dd>{number}<span>{at} {step}</span></dd></div>");
        }
        out.push_str("</dl>");
    }
    let mut gaps = panels::gaps(panel, at);
    if panel.main.len() > steps.len() {
        gaps.push(format!("{} values, several of one {at} in order of recording", count(panel.main.len() as u64)));
    }
    if !gaps.is_empty() {
        let _ = write!(out, "<p class=\"gap\">{}</p>", escape(&gaps.join("; ")));
    }
    out.push_str("</figure>\n");
}

/// Which captures the page rests on.
fn inputs(out: &mut String, series: &Series, at: &str) {
    let _ = write!(
        out,
        "<h2 id=\"inputs\">Inputs</h2><p class=\"soft\">Bundles, verified before they were read. The manifest’s SHA-256 is a \
         bundle’s identity.</p><div class=\"scroll\"><table><thead><tr><th class=\"n\">{at}</th><th>recorded, UTC</th><th \
         class=\"n\">outer wall time</th><th>run</th><th>manifest</th><th>bundle</th></tr></thead><tbody>"
    );
    for (input, wall) in series.inputs.iter().zip(&series.outer_wall_time).take(INPUTS) {
        let _ = write!(
            out,
            "<tr><td class=\"n\">{}</td><td>{}</td><td class=\"n\">{}</td><td><code>{}</code></td><td><code \
             title=\"{}\">{}</code></td><td class=\"wrap\"><code>{}</code></td></tr>",
            input.capture_step,
            escape(input.started_at.split('.').next().unwrap_or_default().trim_end_matches('Z')).replace('T', " "),
            wall.outer_wall_time_ns.map_or("–".to_owned(), |ns| duration(ns as f64)),
            label(&input.run_id),
            escape(&input.manifest_sha256),
            escape(input.manifest_sha256.get(..12).unwrap_or_default()),
            label(&input.bundle),
        );
    }
    out.push_str("</tbody></table></div>");
    if series.inputs.len() > INPUTS {
        let _ = write!(
            out,
            "<p>Showing {} of {}; the command below gives all.</p>",
            count(INPUTS as u64),
            count(series.inputs.len() as u64)
        );
    }
}

/// The commands that give every number of the page.
fn again(out: &mut String, request: &Request) {
    let word = |text: &str| shell_word(text);
    let bundles = |request: &Request| -> String {
        let words: Vec<String> = request.bundles.iter().map(|b| word(&b.display().to_string())).collect();
        if words.is_empty() || words.len() > REPEATED { "BUNDLE...".to_owned() } else { words.join(" ") }
    };
    let from = match &request.manifest {
        Some(manifest) => format!("--manifest {}", word(&manifest.display().to_string())),
        None => format!("--bundle {}", bundles(request)),
    };
    let prefix = request.label_prefix.as_ref().map(|p| format!(" --label-prefix {}", word(p))).unwrap_or_default();
    let _ = write!(
        out,
        "<h2 id=\"again\">The numbers</h2><p class=\"soft\">Everything that is drawn here, and what had no room, as \
         JSON:</p><pre>candle-graph series {}{} -o series.json</pre><p class=\"soft\">The same as rows, for a notebook or \
         another question:</p><pre>",
        escape(&from),
        escape(&prefix)
    );
    for query in ["series_wall", "series_gradients", "series_tensor_stats"] {
        let _ = writeln!(out, "candle-graph sql {} --query {query} --format csv", escape(&bundles(request)));
    }
    out.push_str("</pre>");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plots_are_shared_out() {
        assert_eq!(shares([3, 4, 5], 199), [3, 4, 5]);
        assert_eq!(shares([500, 10, 500], 199), [94, 10, 95]);
        assert_eq!(shares([500, 500, 500], 199), [66, 66, 67]);
        assert_eq!(shares([0, 0, 500], 199), [0, 0, 199]);
    }
}
