//! Where and with what a run ran, as far as it can be known without asking anybody.
//! In: the host's files and this build's own facts. Out: `Host`, each fact optional.
//! Left to neighbours: what the program declares (`run`).

use std::path::{Path, PathBuf};

/// Facts about the host and the build. `None`: not knowable here.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Host {
    pub os: Option<String>,
    pub host_name: Option<String>,
    pub cpu_model: Option<String>,
    pub logical_cores: Option<u64>,
    /// rustc that compiled the recorder.
    pub toolchain: Option<String>,
    /// Cargo profile and optimisation level the recorder was compiled with.
    pub build_profile: Option<String>,
    /// Version of candle-core in the Cargo.lock beside the program's sources or target directory.
    pub candle_version: Option<String>,
    /// Commit checked out there.
    pub git_revision: Option<String>,
}

impl Host {
    /// Reads every fact that can be read.
    pub fn detect() -> Self {
        let project = project_dir();
        Self {
            os: Some(os()),
            host_name: first_line("/proc/sys/kernel/hostname"),
            cpu_model: cpu_model(),
            logical_cores: std::thread::available_parallelism().ok().map(|n| n.get() as u64),
            toolchain: option_env!("CANDLE_GRAPH_RUSTC").map(str::to_owned),
            build_profile: option_env!("CANDLE_GRAPH_PROFILE").map(str::to_owned),
            candle_version: project.as_deref().and_then(candle_version),
            git_revision: project.as_deref().and_then(git_revision),
        }
    }
}

fn first_line(path: impl AsRef<Path>) -> Option<String> {
    let text = std::fs::read_to_string(path).ok()?;
    let line = text.lines().next()?.trim();
    (!line.is_empty()).then(|| line.to_owned())
}

fn os() -> String {
    let release = first_line("/proc/sys/kernel/osrelease").map(|r| format!(" {r}")).unwrap_or_default();
    format!("{} {}{release}", std::env::consts::OS, std::env::consts::ARCH)
}

fn cpu_model() -> Option<String> {
    let text = std::fs::read_to_string("/proc/cpuinfo").ok()?;
    let line = text.lines().find(|l| l.starts_with("model name"))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}

/// The nearest directory with a Cargo.lock: above the manifest under `cargo run`, else above the executable.
fn project_dir() -> Option<PathBuf> {
    let manifest = std::env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from);
    let executable = std::env::current_exe().ok();
    [manifest, executable]
        .into_iter()
        .flatten()
        .find_map(|start| start.ancestors().find(|d| d.join("Cargo.lock").is_file()).map(Path::to_owned))
}

/// The version of candle-core in Cargo.lock, where there is exactly one.
fn candle_version(project: &Path) -> Option<String> {
    let lock = std::fs::read_to_string(project.join("Cargo.lock")).ok()?;
    let mut versions = lock.split("[[package]]").filter_map(|package| {
        let mut lines = package.lines().map(str::trim);
        lines.find(|l| *l == "name = \"candle-core\"")?;
        let version = lines.find_map(|l| l.strip_prefix("version = \""))?;
        Some(version.trim_end_matches('"').to_owned())
    });
    let version = versions.next()?;
    versions.next().is_none().then_some(version)
}

/// The checked-out commit, read from .git without running git.
fn git_revision(project: &Path) -> Option<String> {
    let git = project.ancestors().map(|d| d.join(".git")).find(|d| d.is_dir())?;
    let head = first_line(git.join("HEAD"))?;
    let Some(reference) = head.strip_prefix("ref: ") else { return Some(head) };
    first_line(git.join(reference)).or_else(|| {
        let packed = std::fs::read_to_string(git.join("packed-refs")).ok()?;
        packed.lines().find_map(|l| l.strip_suffix(reference).map(|hash| hash.trim().to_owned()))
    })
}
