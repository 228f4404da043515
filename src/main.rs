//! `candle-graph`.

fn main() -> std::process::ExitCode {
    candle_graph::cli::main()
}
