//! fdtree: a tree of directories is made, filled with files, emptied and taken down.
//!
//! Timing formula of a phase: rate = operations / (t1 − t0); t0 before the first directory or
//! file, t1 after the last. Inside: the system calls, or, in spawn mode, starting the programs
//! that make them and waiting for each. Nothing is synced.
//!
//! Lineage: fdtree 1.0.2, Lawrence Livermore National Laboratory (UCRL-CODE-155938),
//! <https://github.com/LLNL/fdtree>; reimplemented from its behaviour.
//!
//! Known deviations: the work is done by system calls of one thread unless programs are asked
//! for; these are started by the engine and not by a shell, which takes less time; the root has
//! a name that can be given, so that a tree left behind can be removed; a root that is there
//! already is refused.

mod executor;
mod measures;
mod params;
mod phase;
mod run;
mod tree;

use std::path::Path;

use kit::failure::bad_parameter;
use kit::trial::{self, Planned};
use serde_json::{json, Map, Value};
use wire::{Card, TargetKind};

use self::params::{Params, Phases};
use storage::scratch::in_the_way;
use storage::workload::Workload;

/// The workload; see the module.
pub struct Fdtree;

impl Workload for Fdtree {
    fn name(&self) -> &'static str {
        "fdtree"
    }

    fn card(&self) -> Card {
        Card {
            name: self.name().to_owned(),
            title: "fdtree".to_owned(),
            target: TargetKind::Directory,
            about: "a tree of directories and files is made and taken down".to_owned(),
            lineage: LINEAGE.to_owned(),
            timing: TIMING.to_owned(),
            description: DESCRIPTION.to_owned(),
            parameters: kit::params::schema::<Params>(),
            metrics: measures::cards(),
            grid: Vec::new(),
            usual: json!({"levels": 4, "directories": 8, "files": 5, "size": "4k"}),
            smoke: json!({"levels": 2, "directories": 3, "files": 2, "size": "6k"}),
        }
    }

    fn plan(&self, parameters: &Map<String, Value>, directory: &Path) -> Planned {
        let params = Params::parse(parameters)?;
        let root = directory.join(&params.root);
        let is_there = root.symlink_metadata().is_ok();
        match params.phases {
            Phases::All | Phases::Create if is_there => Err(in_the_way(&root)),
            Phases::Remove if !is_there => {
                let message = format!(
                    "parameter \"root\": there is no tree at {}; name one that phases \"create\" \
                     has left behind",
                    root.display()
                );
                Err(bad_parameter("root", message))
            }
            _ => Ok(trial::ready(params, 1, move |params, event_sink| {
                run::run(params, &root, event_sink)
            })),
        }
    }
}

const LINEAGE: &str = "\
fdtree 1.0.2, Lawrence Livermore National Laboratory (UCRL-CODE-155938), \
https://github.com/LLNL/fdtree; the same tree in the same order";

const TIMING: &str = "\
rate = operations / (t1 − t0) for each of four phases, t0 before the first operation and t1 after \
the last; nothing is synced. The native figures are the original's: integers, divided by the \
whole seconds of the calendar that passed, and 0 where none did";

const DESCRIPTION: &str = "\
All directories of a tree are made, then files are created in each, then all files are removed \
and at last all directories. One thread works without pause, so that what is measured is the name \
space and the page cache. The original is a shell script that starts a program for every \
directory and file, which takes about a millisecond each and hides the file system; its figures \
can be compared with those of mode `spawn` only, where the engine starts the same programs, and \
removal looks ten times as fast as creation because one program removes all files of a directory.";

#[cfg(test)]
mod tests;
