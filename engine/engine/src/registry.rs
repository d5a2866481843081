//! What this engine can do: the lists of its crates, put together.

use storage::backend;
use storage::workload::{self, Workload};
use wire::{BackendCard, Catalogue, Failure, PROTOCOL};

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
        workloads: workload::ALL.iter().map(|known| known.card()).collect(),
    }
}

/// The workload called `name`.
///
/// # Errors
/// `BadJob`, with the names that there are.
pub fn find(name: &str) -> Result<&'static dyn Workload, Failure> {
    let names: Vec<String> = workload::ALL
        .iter()
        .map(|known| known.card().name)
        .collect();
    let position = names.iter().position(|known| known == name);
    position.map(|at| workload::ALL[at]).ok_or_else(|| {
        let message = kit::params::unknown_name("workload", name, &names);
        kit::failure::bad_parameter("workload", message)
    })
}
