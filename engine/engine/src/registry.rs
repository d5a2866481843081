//! What this engine can do: the lists of its crates, put together.

use std::path::Path;

use kit::failure::bad_parameter;
use kit::trial::Planned;
use storage::backend;
use wire::{BackendCard, Card, Catalogue, Failure, FarEnd, Job, PROTOCOL};

/// Version of the engine.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Everything, for `describe`.
pub fn catalogue() -> Catalogue {
    Catalogue {
        protocol: PROTOCOL,
        engine: VERSION.to_owned(),
        backends: backend::CARDS
            .iter()
            .map(|card| BackendCard {
                name: card.name.to_owned(),
                about: card.about.to_owned(),
            })
            .collect(),
        workloads: all().map(Known::card).collect(),
    }
}

/// The trial that `job` asks for.
///
/// # Errors
/// `BadJob`, with the workloads that there are, or with the parameter or target that is not right.
pub fn plan(job: &Job) -> Planned {
    match find(&job.workload)? {
        Known::Storage(workload) => workload.plan(&job.parameters, directory(job)?),
        Known::Network(workload) => workload.plan(&job.parameters, far(job)?),
        Known::Program => {
            let directory = directory(job)?;
            program::plan(&job.parameters, directory, &job.target, &job.conditions)
        }
    }
}

/// A workload of one of the crates.
#[derive(Clone, Copy)]
enum Known {
    Storage(&'static dyn storage::workload::Workload),
    Network(&'static dyn network::workload::Workload),
    Program,
}

impl Known {
    fn name(self) -> &'static str {
        match self {
            Known::Storage(workload) => workload.name(),
            Known::Network(workload) => workload.name(),
            Known::Program => program::NAME,
        }
    }

    fn card(self) -> Card {
        match self {
            Known::Storage(workload) => workload.card(),
            Known::Network(workload) => workload.card(),
            Known::Program => program::card(),
        }
    }
}

fn all() -> impl Iterator<Item = Known> {
    let storage = storage::workload::ALL.iter().copied().map(Known::Storage);
    let network = network::workload::ALL.iter().copied().map(Known::Network);
    storage.chain(network).chain([Known::Program])
}

fn find(name: &str) -> Result<Known, Failure> {
    all().find(|known| known.name() == name).ok_or_else(|| {
        let names: Vec<String> = all().map(|known| known.name().to_owned()).collect();
        let message = kit::params::unknown_name("workload", name, &names);
        bad_parameter("workload", message)
    })
}

fn directory(job: &Job) -> Result<&Path, Failure> {
    let missing = || lacks(job, "directory", "an existing directory");
    job.target.directory.as_deref().ok_or_else(missing)
}

fn far(job: &Job) -> Result<&FarEnd, Failure> {
    let missing = || lacks(job, "far", "where \"tiltyard-engine serve\" listens");
    job.target.far.as_ref().ok_or_else(missing)
}

fn lacks(job: &Job, key: &str, what: &str) -> Failure {
    let workload = &job.workload;
    let message = format!("job: target.{key} is missing: {workload} works on {what}");
    bad_parameter(&format!("target.{key}"), message)
}
