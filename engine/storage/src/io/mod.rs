//! The movers of records: one pump for one record at a time and one for several in flight, over a *transport* (how the bytes are
//! moved), a *pattern* (an iterator of [`Step`]s: which record, in which direction) and *hooks*
//! (what surrounds each record). A pump is compiled once for each combination that is used;
//! nothing in it allocates, logs or locks.

mod hooks;
mod pipeline;
mod pump;
pub mod watch;

pub use self::hooks::{Check, NoHooks, Range, RecordHooks};
pub use self::pipeline::{Pipeline, Refill};
pub use self::pump::{AtPosition, Operation, Positional, Pump, Step, Transport};
