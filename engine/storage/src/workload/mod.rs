//! Storage workloads.
//!
//! To add one: a file or folder beside this one with everything in it (what it is, parameters,
//! metrics, timing formula, code, tests), and one line in [`ALL`]. Help, schema, documentation,
//! validation and the smoke test are derived from its card.

pub mod aio_stress;
mod blocks;
pub mod compilebench;
mod edges;
pub mod fdtree;
pub mod fs_mark;
pub mod iozone;
mod phase;
pub mod postmark;
pub mod random;
pub mod stream;
pub mod tiobench;
pub mod watch;

use std::path::Path;

use kit::Ledger;
use serde_json::{Map, Value};
use wire::{Card, Failure, Timing};

/// All storage workloads, in the order in which a person should meet them.
pub static ALL: &[&dyn Workload] = &[
    &iozone::Iozone,
    &iozone::Throughput,
    &postmark::Postmark,
    &fs_mark::FsMark,
    &compilebench::Compilebench,
    &fdtree::Fdtree,
    &tiobench::Tiobench,
    &aio_stress::AioStress,
    &stream::Stream,
    &random::Random,
];

/// A kind of trial that can be asked for by name.
pub trait Workload: Sync {
    /// Everything that help, documentation and the lab need to know.
    fn card(&self) -> Card;

    /// Reads the parameters and looks at the directory, without changing anything.
    ///
    /// # Errors
    /// `BadJob` naming the parameter; `Refused` when a file is in the way.
    fn plan(
        &self,
        parameters: &Map<String, Value>,
        directory: &Path,
    ) -> Result<Box<dyn Trial>, Failure>;
}

/// A workload with its parameters resolved, ready to be executed once.
pub trait Trial {
    /// Every parameter with its resolved value.
    fn effective(&self) -> Map<String, Value>;

    /// How often the clock is read.
    fn timing(&self) -> Timing;

    /// How many threads measure at once, each on a CPU of its own as far as there are enough.
    fn threads(&self) -> usize {
        1
    }

    /// Prepares, executes and checks. Timed regions lie inside; the ledger is used between
    /// them. All files made are removed again, however it ends.
    ///
    /// # Errors
    /// Whatever kept the work from being done as declared. What was measured until then is in
    /// the ledger.
    fn run(self: Box<Self>, ledger: &mut Ledger) -> Result<(), Failure>;
}
