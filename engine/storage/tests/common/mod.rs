//! Storage workloads as subjects of the rules that all workloads are held to.

use storage::workload::{Workload, ALL};
use testing::rules::OnDirectory;

/// A workload, held to the rules.
pub fn held(workload: &'static dyn Workload) -> OnDirectory<'static> {
    OnDirectory::new(workload.card(), |parameters, directory| {
        workload.plan(parameters, directory)
    })
}

/// All of the list.
#[allow(dead_code)]
pub fn all() -> Vec<OnDirectory<'static>> {
    ALL.iter().map(|workload| held(*workload)).collect()
}

/// One of the list.
#[allow(dead_code)]
pub fn named(name: &str) -> OnDirectory<'static> {
    let found = ALL.iter().find(|known| known.name() == name);
    held(*found.unwrap())
}
