//! What the tests of storage and network workloads share: every workload is held to the same
//! rules, whatever it works on. For tests only; what breaks a rule panics.

pub mod allocations;
pub mod parameter;
pub mod subject;
pub mod taken;

pub use allocations::Counting;
pub use parameter::Parameter;
pub use subject::Subject;
pub use taken::Taken;
