//! What the tests of storage and network workloads share: every workload is held to the same
//! rules, whatever it works on. For tests only; what breaks a rule panics.

pub mod allocations;
pub mod parameter;
pub mod room;
pub mod rules;
pub mod subject;
pub mod taken;

pub use allocations::Counting;
pub use parameter::Parameter;
pub use room::{assert_refusals_name, directory_on_disk, scratch_directory};
pub use subject::Subject;
pub use taken::Taken;
