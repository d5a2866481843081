//! The binary, from outside.

mod agent;
mod common;
mod documents;
mod guests;
mod hostile;
mod jobs;
mod leave;
mod ops;
mod out_of_cache;
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
