//! Storage: workloads on file systems, and the backends that move their records.

pub mod access;
pub mod backend;
pub mod fault;
pub mod floor;
pub mod io;
pub mod scratch;
pub mod working_dir;
pub mod workload;

/// Counts, so that loops can be held to no allocation.
#[cfg(test)]
#[global_allocator]
static ALLOCATOR: testing::Counting = testing::Counting;
