//! Tells the recorder which compiler and which Cargo profile built it: provenance that the compiled code cannot see.

use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    if let Some(version) = Command::new(rustc).arg("--version").output().ok().filter(|o| o.status.success()) {
        println!("cargo::rustc-env=CANDLE_GRAPH_RUSTC={}", String::from_utf8_lossy(&version.stdout).trim());
    }
    if let (Ok(profile), Ok(opt)) = (std::env::var("PROFILE"), std::env::var("OPT_LEVEL")) {
        println!("cargo::rustc-env=CANDLE_GRAPH_PROFILE={profile} (opt-level {opt})");
    }
}
