//! The engine of the core alone: storage and network workloads, and programs.

fn main() -> std::process::ExitCode {
    engine::main(engine::Parts::core())
}
