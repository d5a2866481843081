//! The engine that comes with Tiltyard, from outside.

#[path = "../../../../engine/engine/tests/engine/common.rs"]
mod common;
#[path = "../../../../engine/engine/tests/engine/hostile.rs"]
mod hostile;
mod out_of_cache;
mod tools;

/// What is tested.
const ENGINE: &str = env!("CARGO_BIN_EXE_tiltyard-engine");
