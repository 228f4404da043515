//! What several subcommands share: the input, the output, the format, and a sign of life.

use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::error::{Error, Result};
use crate::evidence::Evidence;
use crate::load::{self, Options};
use crate::output::terminal::Style;
use crate::output::write::Target;
use crate::session::Limits;

/// One trace.
#[derive(clap::Args)]
pub struct InputArgs {
    /// Trace directory, JSON-lines trace (plain, .gz or .zst), or - for standard input
    pub input: PathBuf,
    /// Read a damaged JSON-lines trace up to its first unreadable line, as an interrupted capture
    #[arg(long)]
    pub salvage: bool,
}

/// Nsight reports that go with a trace.
#[derive(clap::Args)]
pub struct NsightArgs {
    /// Read the Nsight Systems reports in this directory along with the trace; a bundle carries its own
    #[arg(long, value_name = "DIR")]
    pub nsight_dir: Option<PathBuf>,
}

impl InputArgs {
    /// Opens the trace, and the reports that go with it.
    pub fn trace(&self, nsight: &NsightArgs) -> Result<load::Trace> {
        let mut trace = load::open(&self.input, Options { salvage: self.salvage, ..Options::default() })?;
        if let Some(dir) = &nsight.nsight_dir {
            load::nsight::attach(&mut trace, dir)?;
        }
        Ok(trace)
    }

    /// Opens and examines the trace, running the queries that `headlines` names for it beside the examination.
    pub fn evidence(
        &self,
        nsight: &NsightArgs,
        headlines: impl FnOnce(&load::Trace) -> Vec<&'static str>,
    ) -> Result<Evidence> {
        let _progress = Progress::start(&self.input);
        let trace = self.trace(nsight)?;
        let headlines = headlines(&trace);
        Evidence::gather(trace, Limits::default(), &headlines)
    }
}

/// Where the result goes.
#[derive(clap::Args)]
pub struct OutputArgs {
    /// Write to this file, whole or not at all, instead of standard output
    #[arg(long, short)]
    pub output: Option<PathBuf>,
}

impl OutputArgs {
    /// The target; refused when it would write into a trace that is being read.
    pub fn target(&self, inputs: &[&Path]) -> Result<Target<'_>> {
        let Some(path) = self.output.as_deref() else { return Ok(None) };
        if let Some(bundle) = crate::load::bundle::around(path) {
            return Err(Error::input(path, format!("lies in the bundle {}; a bundle never changes", bundle.display())));
        }
        for input in inputs {
            if inside(path, input) {
                return Err(Error::input(path, format!("lies in {}, which is being read", input.display())));
            }
        }
        // Told before the work, not after it.
        if path.is_dir() {
            return Err(Error::input(path, "is a directory; give a file name"));
        }
        Ok(Some(path))
    }
}

/// Whether writing `path` would touch the trace at `input`, through any link.
fn inside(path: &Path, input: &Path) -> bool {
    let Ok(input) = input.canonicalize() else {
        // Not there yet, as the bundle that is about to be published.
        let absolute = |p: &Path| std::path::absolute(p).ok();
        return absolute(path).zip(absolute(input)).is_some_and(|(path, input)| path.starts_with(input));
    };
    let directory = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let directory = directory.canonicalize().ok();
    let file = path.canonicalize().ok();
    [directory, file].into_iter().flatten().any(|p| p.starts_with(&input))
}

/// Whether people read standard output.
pub fn for_people(output: &OutputArgs) -> bool {
    output.output.is_none() && std::io::stdout().is_terminal()
}

/// How text is set off: in colour where people read it, unless they ask for none.
pub fn style(output: &OutputArgs) -> Style {
    Style { color: for_people(output) && std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty()) }
}

/// How a document is shown.
#[derive(Clone, Copy, PartialEq, clap::ValueEnum)]
pub enum Format {
    Text,
    Json,
}

/// Text or JSON.
#[derive(clap::Args)]
pub struct FormatArgs {
    /// Text for people or JSON for tools; by default text on a terminal, else JSON
    #[arg(long)]
    format: Option<Format>,
}

impl FormatArgs {
    /// What was asked for, or what suits whoever reads the output.
    pub fn choice(&self, output: &OutputArgs) -> Format {
        self.format.unwrap_or(if for_people(output) { Format::Text } else { Format::Json })
    }
}

/// A line on standard error while long work runs, where that is a terminal. Gone when dropped.
pub struct Progress {
    thread: Option<(Sender<()>, JoinHandle<()>)>,
}

impl Progress {
    /// Shows nothing for half a second: most work is done by then.
    pub fn start(input: &Path) -> Self {
        if !std::io::stderr().is_terminal() {
            return Self { thread: None };
        }
        let name = crate::text::printable(&input.display().to_string());
        let (stop, stopped) = channel();
        let thread = std::thread::spawn(move || {
            let began = Instant::now();
            let mut shown = false;
            while stopped.recv_timeout(Duration::from_millis(500)) == Err(RecvTimeoutError::Timeout) {
                shown = true;
                eprint!("\r\x1b[2Kreading {name} … {:.1} s", began.elapsed().as_secs_f64());
                let _ = std::io::stderr().flush();
            }
            if shown {
                eprint!("\r\x1b[2K");
            }
        });
        Self { thread: Some((stop, thread)) }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some((stop, thread)) = self.thread.take() {
            drop(stop);
            let _ = thread.join();
        }
    }
}
