//! The near end: drives a stock netserver, or ours.

mod outcome;
mod test;

pub use outcome::{CpuUse, Interim, Outcome, Side, SocketBuffer};
pub use test::{Burst, End, Extent, Kind, Moves, Test};
