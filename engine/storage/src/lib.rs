//! Storage: workloads on file systems, and the backends that move their records.

pub mod access;
pub mod backend;
pub mod fault;
pub mod floor;
pub mod io;
pub mod scratch;
#[cfg(test)]
mod testing;
pub mod working_dir;
pub mod workload;
