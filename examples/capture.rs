//! Records one update and publishes it, so that a program that crashes anywhere can simply be run again:
//! `cargo run --example capture -- DIRECTORY`.

use std::path::PathBuf;

use candle_graph::{CaptureBegin, CaptureRun, ExecutionStep, ProfileRun, SpanKind};

fn main() -> anyhow::Result<()> {
    let destination: PathBuf = match std::env::args_os().nth(1) {
        Some(path) if !path.as_encoded_bytes().starts_with(b"-") => path.into(),
        _ => anyhow::bail!("usage: capture DIRECTORY, where the bundle is to be"),
    };
    let capture = match CaptureRun::begin(&destination, ProfileRun::training("example::update", 3, "cpu"))? {
        CaptureBegin::AlreadyPublished(receipt) => {
            println!("{} {}", receipt.status, receipt.run_id);
            return Ok(());
        }
        CaptureBegin::Active(capture) => capture,
    };
    for trace in capture.left_behind() {
        println!("an earlier attempt left {}", trace.display());
    }
    let session = capture.session();
    {
        let _update = session.begin_measurement("example/update");
        let forward = session.begin_step_span("forward", ExecutionStep::Forward, SpanKind::Function);
        session.record_scalar(forward.id(), "loss", 0.25)?;
    }
    let receipt = capture.publish()?;
    println!("{} {}", receipt.status, receipt.run_id);
    Ok(())
}
