//! The near end: drives a stock netserver, or ours.

mod far;
mod near;
mod netserver;
mod outcome;
mod request;
mod run;
mod source;
mod test;

pub use crate::netperf::data::alarm::Interim;
pub use crate::netperf::data::cpu::CpuUse;
#[cfg(test)]
pub(in crate::netperf) use request::request_of;

pub use netserver::{Netserver, Site};
pub use outcome::{Outcome, Side, SocketBuffer};
pub use test::{Burst, End, Extent, Kind, Moves, Test};
