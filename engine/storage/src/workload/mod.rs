//! Storage workloads.
//!
//! To add one: a file or folder beside this one with everything in it (what it is, parameters,
//! metrics, timing formula, code, tests), and one line in [`ALL`]. Help, schema, documentation,
//! validation and the smoke test are derived from its card.

mod blocks;
pub mod choices;
pub mod mt19937;
pub mod postmark;
pub mod random;
pub mod region;
pub mod stream;

use std::path::Path;

use kit::trial::Planned;
pub use kit::Trial;
use serde_json::{Map, Value};
use wire::Card;

/// All storage workloads, in the order in which a person should meet them.
pub static ALL: &[&dyn Workload] = &[&postmark::Postmark, &stream::Stream, &random::Random];

/// A kind of trial that can be asked for by name.
pub trait Workload: Sync {
    /// What it is asked for by.
    fn name(&self) -> &'static str;

    /// Everything that help, documentation and the lab need to know. To derive it takes longer than
    /// a small trial.
    fn card(&self) -> Card;

    /// Reads the parameters and looks at the directory, without changing anything.
    ///
    /// # Errors
    /// `BadJob` naming the parameter; `Refused` when a file is in the way.
    fn plan(&self, parameters: &Map<String, Value>, directory: &Path) -> Planned;
}
