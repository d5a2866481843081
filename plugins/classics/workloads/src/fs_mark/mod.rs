//! fs_mark: how fast files are created, one after another, with all that makes them durable.
//!
//! Timing formula of a loop: rate = files of all threads / (t1 − t0); t0 when all threads are
//! there and started, t1 when the last is done. Making names, creating, writing, syncing
//! and closing lie inside, and so does whatever the method syncs after the last file; removing
//! the files is a region of its own.
//!
//! Lineage: fs_mark 3.3 by Ric Wheeler, EMC, <https://sourceforge.net/projects/fsmark/>;
//! reimplemented from its behaviour.
//!
//! Known deviations, also with `classic`: threads instead of processes; no file is ever
//! truncated, another name is drawn instead; directories that the trial has made are removed;
//! files are removed when all threads have created theirs. Without `classic` also those that the
//! parameter lists.

mod call;
mod measures;
mod names;
mod params;
mod paths;
mod run;
mod site;
mod spread;
mod worker;

use std::path::Path;

use kit::trial::{self, Planned};
use serde_json::{json, Map, Value};
use wire::{Card, TargetKind};

use self::params::Params;
use storage::workload::Workload;

/// The workload; see the module.
pub struct FsMark;

impl Workload for FsMark {
    fn name(&self) -> &'static str {
        "fs_mark"
    }

    fn card(&self) -> Card {
        Card {
            name: self.name().to_owned(),
            title: "fs_mark".to_owned(),
            target: TargetKind::Directory,
            about: "many files created, written, synced and closed by several threads".to_owned(),
            lineage: LINEAGE.to_owned(),
            timing: TIMING.to_owned(),
            description: DESCRIPTION.to_owned(),
            parameters: kit::params::schema::<Params>(),
            metrics: measures::cards(),
            grid: vec!["loop".to_owned()],
            usual: json!({"files": 2_000, "size": "16k", "threads": 2}),
            smoke: json!({
                "files": 5, "size": "10k", "write_block": "4k", "threads": 2, "loops": 2,
                "sync": "sync-post", "subdirectories": 3
            }),
        }
    }

    fn plan(&self, parameters: &Map<String, Value>, directory: &Path) -> Planned {
        let params = Params::parse(parameters)?;
        let (threads, directory) = (params.threads, directory.to_owned());
        Ok(trial::ready(params, threads, move |params, event_sink| {
            run::run(params, &directory, event_sink)
        }))
    }
}

const LINEAGE: &str = "\
fs_mark 3.3 by Ric Wheeler, EMC, https://sourceforge.net/projects/fsmark/; the percentiles over \
loops are those of its later repository, https://github.com/josefbacik/fs_mark";

const TIMING: &str = "\
files / s = files of all threads / (t1 − t0) for each loop; t0 when all threads are told to \
start, t1 when the last is done; names, create, write, fsync and close are inside, and whatever \
is synced after the last file; removing is timed apart. The native figure adds up the threads' \
own rates, as the original does, and is higher when they do not begin and end at once";

const DESCRIPTION: &str = "\
In each loop every thread creates a number of equal files with random names, writes and closes \
them, and makes them durable in one of seven ways; then the files are removed, or kept, so that \
directories fill up. Directories are never synced. The original has defects that are put right \
here unless `classic` is set: its sync waits for every file system of the machine; it makes the \
directory anew before each file; without a number of files for each, it fills one subdirectory \
for three minutes, however many there are; names and places depend on the time of day. In either \
case threads take the place of its processes, and an existing file is never truncated.";

#[cfg(test)]
mod tests;
