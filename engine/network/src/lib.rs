//! The network instrument: workloads between two ends, and both ends of them.

pub mod workload;
