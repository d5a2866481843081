//! Storage workloads as subjects of the rules that all workloads are held to.

use std::fs;
use std::path::Path;

use storage::workload::Workload;
use testing::Subject;

/// `workload` on an empty directory, which a plan leaves empty.
pub fn subject<'a>(workload: &'a dyn Workload, directory: &'a Path) -> Subject<'a> {
    Subject::new(workload.card(), move |parameters| {
        let planned = workload.plan(parameters, directory);
        assert_eq!(fs::read_dir(directory).unwrap().count(), 0);
        planned
    })
}
