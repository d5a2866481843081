//! The network instrument: workloads between a client and a server, and both of them.
//!
//! ```text
//! workload ─► client ─┬─► control ◄─┬─ server     what is agreed, and reported afterwards
//!                     └─► flow ◄────┘             loops that move data, the same at both ends
//!                          └─► socket
//! ```

pub mod client;
pub mod control;
pub mod cpu;
pub mod failure;
pub mod flow;
pub mod networks;
pub mod placement;
pub mod region;
pub mod server;
pub mod side;
pub mod socket;
pub mod stop;
pub mod watchdog;
pub mod workload;
