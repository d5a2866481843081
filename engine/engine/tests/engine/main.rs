//! The engine of the core, from outside.

mod agent;
mod common;
mod documents;
mod guests;
mod hostile;
mod jobs;
mod leave;
mod ops;
mod pools;
mod programs;
mod programs_held;
mod programs_outputs;
mod runner;
mod serve;
mod serve_limits;
mod settings;
mod started;
mod trouble;

/// What is tested.
const ENGINE: &str = env!("CARGO_BIN_EXE_tiltyard-core");
