//! The local end: drives a stock netserver, or ours.

mod local;
mod netserver;
mod outcome;
pub(crate) mod request;
mod run;
mod test;

pub use crate::data::alarm::Interim;
pub use network::cpu::CpuUse;

pub use netserver::{Netserver, Site};
pub use outcome::{Outcome, Side, SocketBuffer};
pub use test::{Burst, End, Extent, Kind, Moves, Test};
