//! Network workloads.
//!
//! To add one: a constant beside those of its family, [`stream`] or [`exchange`], or a file beside
//! this one with everything in it (what it is, parameters, metrics, timing formula, tests), and one
//! line in [`ALL`].

mod connects;
mod ends;
mod exchange;
mod hosts;
mod plan;
mod stream;

use kit::trial::Planned;
use serde_json::{Map, Value};
use wire::{Card, FarEnd};

/// All network workloads, in the order in which a person should meet them.
pub static ALL: &[&dyn Workload] = &[
    &stream::TCP_STREAM,
    &stream::TCP_MAERTS,
    &stream::TCP_SENDFILE,
    &stream::UDP_STREAM,
    &stream::UNIX_STREAM,
    &exchange::TCP_RR,
    &exchange::UDP_RR,
    &exchange::UNIX_RR,
    &exchange::TCP_CRR,
];

/// A kind of trial that can be asked for by name.
pub trait Workload: Sync {
    /// What it is asked for by.
    fn name(&self) -> &'static str;

    /// Everything that help, documentation and the lab need to know. To derive it takes longer than
    /// a small trial.
    fn card(&self) -> Card;

    /// Reads the parameters, without a word to the server.
    ///
    /// # Errors
    /// `BadJob` naming the parameter.
    fn plan(&self, parameters: &Map<String, Value>, far: &FarEnd) -> Planned;
}
