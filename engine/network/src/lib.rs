//! The network instrument: workloads between two ends, and both ends of them.
//!
//! ```text
//! workload ─► near ─┬─► control ◄─┬─ serve        what is agreed, and told afterwards
//!                   └─► flow ◄────┘               loops that move data, the same at both ends
//!                        └─► socket
//! ```

pub mod control;
pub mod failure;
pub mod flow;
pub mod lifeline;
pub mod near;
pub mod netperf;
pub mod networks;
pub mod placement;
pub mod region;
pub mod serve;
pub mod side;
pub mod socket;
pub mod stop;
pub mod workload;
