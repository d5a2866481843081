//! Storage: workloads on file systems, and the backends that move their records.

pub mod backend;
pub mod floor;
pub mod workload;
