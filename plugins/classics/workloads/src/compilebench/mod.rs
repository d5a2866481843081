//! compilebench: source trees are created, patched, compiled, read and deleted, as the disk of
//! somebody who works on a kernel sees it. No compiler runs.
//!
//! Timing formula of a stage: rate = amount / Σ (t1 − t0) over its trees; t0 before the first
//! file or directory of a tree, t1 after the last, or, where the stage is synced, after
//! everything is on the device. Inside: finding directories and making them, open, read or
//! write, close, unlink, rmdir, stat.
//!
//! Lineage: compilebench 0.6, Chris Mason, Oracle, 2007–2008; reimplemented from its behaviour.
//!
//! Known deviations: see `DESCRIPTION`; the top directory of a tree is made and removed outside
//! of the timed region, and none is left behind; the order of files is found out with empty
//! files; trees are reached by their full paths; a build's files are shuffled from another order
//! than that of the original, whose is that of a hash table.

mod caches;
mod choices;
mod contents;
mod created_trees;
mod dataset;
mod group;
mod measures;
mod name_space;
mod order;
mod params;
mod path;
mod run;
mod schedule;
mod sets;
mod spread;
mod stage;
mod synthetic;
mod worker;

use std::path::Path;

use kit::trial::{self, Planned};
use serde_json::{json, Map, Value};
use wire::{Card, Failure, TargetKind};

use self::params::{BackendName, Params};
use storage::scratch::check_free;
use storage::workload::Workload;

/// The workload; see the module.
pub struct Compilebench;

impl Workload for Compilebench {
    fn name(&self) -> &'static str {
        "compilebench"
    }

    fn card(&self) -> Card {
        Card {
            name: self.name().to_owned(),
            title: "Compilebench".to_owned(),
            target: TargetKind::Directory,
            about: "source trees are created, patched, compiled, read and deleted".to_owned(),
            lineage: LINEAGE.to_owned(),
            timing: TIMING.to_owned(),
            description: DESCRIPTION.to_owned(),
            parameters: kit::params::schema::<Params>(),
            metrics: measures::cards(),
            grid: Vec::new(),
            usual: json!({"trees": 5, "operations": 70, "files": 1_000}),
            smoke: json!({
                "trees": 2, "operations": 13, "files": 20, "seed": 103, "sync": false,
                "cold": false
            }),
        }
    }

    fn plan(&self, parameters: &Map<String, Value>, directory: &Path) -> Planned {
        let params: Params = kit::params::read(parameters)?;
        let sets = match &params.dataset {
            Some(dataset) => dataset::read(dataset)?,
            None => synthetic::sets(params.files),
        };
        if params.backend != BackendName::Null {
            refuse_to_overwrite(directory, &params)?;
        }
        let directory = directory.to_owned();
        Ok(trial::ready(params, 1, move |params, event_sink| {
            run::run(params, sets, &directory, event_sink)
        }))
    }
}

const LINEAGE: &str = "\
compilebench 0.6 by Chris Mason, Oracle, 2008. With its dataset and seed, the same operations on \
trees of the same names in the same order.";

const TIMING: &str = "\
rate = amount / Σ (t1 − t0) over the trees of a stage, t0 before the first file or directory of a \
tree, t1 after the last and after all of it is on the device (`sync`; with `classic` not in the \
initial creation nor in the make-j scenario). The native figures are the original's: the mean \
over trees of MB/s, where MB is 1024 × 1024 bytes, or of seconds";

const DESCRIPTION: &str = "\
Source trees are created, one after another. Then, in the random scenario, one of seven \
operations at a time is done to a tree chosen at random: patch, compile, clean, delete, create, \
read, stat. In the make-j scenario all trees are compiled, three are read and all are deleted. No \
compiler runs: compiling is writing files of the sizes that a build makes, all over the tree. Files \
of a source tree are written in the order in which the file system lists them. The original's \
files of names and sizes can be given (`dataset`); otherwise trees are made up that have as many \
files and bytes as Linux 2.6.20 and 2.6.21 and their builds, the same distributions of sizes \
(given by twentieths), of depths and of files per directory, but other names.\n\n\
`classic` brings back what the original does and what makes its figures hard to compare: initial \
creation and the whole make-j scenario are timed without the sync, so that they measure memory; \
caches are dropped only before the first of the three reads, of which two may be of the same \
tree (with the defaults and 10 trees they are), and where caches cannot be dropped, that is \
only said. Without `classic`, a trial that cannot drop the caches does not begin, every read tree \
is another one, and one that was to come from the device and did not is a failure. The original \
writes only the letter a (`content`), books the deletion of the last tree in a state as that of a \
compiled tree, and averages rates, which favours fast trees; deletions are booked here by what \
the tree was, and the values are totals over totals, the averages being beside them.";

/// The first trees are looked for before any work is done; each is refused again when it is
/// made.
fn refuse_to_overwrite(directory: &Path, params: &Params) -> Result<(), Failure> {
    check_free((0..params.trees).map(|tree| directory.join(group::name_of(tree))))
}

#[cfg(test)]
mod tests;
