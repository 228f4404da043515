//! `cargo candle-graph`: the same program under the name that cargo looks for.

fn main() -> std::process::ExitCode {
    candle_graph::cli::main()
}
