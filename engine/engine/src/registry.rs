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
    // A card carries a whole schema; the names of all are looked up only for an error.
    let found = workload::ALL.iter().find(|known| known.card().name == name);
    found.copied().ok_or_else(|| {
        let names: Vec<String> = workload::ALL
            .iter()
            .map(|known| known.card().name)
            .collect();
        let message = kit::params::unknown_name("workload", name, &names);
        kit::failure::bad_parameter("workload", message)
    })
}
