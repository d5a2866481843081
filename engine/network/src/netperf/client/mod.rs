//! The local end: drives a stock netserver, or ours.

mod local;
mod netserver;
mod outcome;
pub(in crate::netperf) mod request;
mod run;
mod test;

pub use crate::cpu::CpuUse;
pub use crate::netperf::data::alarm::Interim;

pub use netserver::{Netserver, Site};
pub use outcome::{Outcome, Side, SocketBuffer};
pub use test::{Burst, End, Extent, Kind, Moves, Test};
