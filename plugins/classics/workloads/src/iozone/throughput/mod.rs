//! IOzone's throughput mode: how fast many children together move the records of a file each.
//!
//! Timing formulas, for the bytes Bᵢ that child i moved until it was done or stopped:
//! ```text
//! children = Σ Bᵢ / (dᵢ − sᵢ)       sᵢ: the child sees the start; dᵢ: it is done or stopped
//! parent   = Σ Bᵢ / (max eᵢ − t0)   t0: all children are there; eᵢ: it has closed its file
//! ```
//! Opening is before t0, preceded by a sync of the file system; fsync and close are before dᵢ
//! where the parameters include them, and before eᵢ always. The first child to be done stops the others (a
//! stonewall); a record that ends after that does not count. Writers of new files, random
//! writers and those with pwrite then complete their files, between dᵢ and eᵢ.
//!
//! Known deviations from the original beyond those of a single stream: children of a phase start
//! at one gate unless they are to be released apart, where the original always releases one after
//! the other, and times the parent from the last; records are filled beforehand,
//! not in the timed region; before a phase the file system of the files is synced, and not all of
//! the machine, and nothing sleeps; a child that dies ends the trial; the least transfer is right
//! when a child moved nothing.

mod figures;
mod params;
mod phase;
mod processes;
mod run;
mod shared_state;

use std::path::{Path, PathBuf};

use kit::trial::Planned;
use kit::EventSink;
use serde_json::{json, Map, Value};
use wire::{Card, Failure, TargetKind, Timing};

use self::params::Params;
use self::phase::Phase;
use super::options::Existing;
use super::{check_found, log, warn_of_depth};
use storage::scratch::check_free;
use storage::workload::{Trial, Workload};

/// The workload; see the module.
pub struct Throughput;

impl Throughput {
    /// The logs that a trial with these parameters writes, or adds to.
    ///
    /// # Errors
    /// `BadJob`, naming the parameter.
    pub fn logs(parameters: &Map<String, Value>) -> Result<Vec<PathBuf>, Failure> {
        let (params, _) = Params::parse(parameters)?;
        Ok(params.logs().collect())
    }
}

impl Workload for Throughput {
    fn name(&self) -> &'static str {
        "iozone_throughput"
    }

    fn card(&self) -> Card {
        Card {
            name: self.name().to_owned(),
            title: "IOzone throughput".to_owned(),
            target: TargetKind::Directory,
            about: "many children that write and read a file each, in thirteen phases".to_owned(),
            lineage: LINEAGE.to_owned(),
            timing: TIMING.to_owned(),
            description: DESCRIPTION.to_owned(),
            parameters: Params::schema(),
            metrics: figures::cards(),
            grid: ["file", "record", "children"].map(str::to_owned).into(),
            usual: json!({"file": "64M", "record": "64k", "children": [1, 4]}),
            smoke: json!({
                "file": "64k", "record": ["4k", "16k"], "children": [1, 3], "stonewall": false
            }),
        }
    }

    fn plan(&self, parameters: &Map<String, Value>, directory: &Path) -> Planned {
        let (params, left_out) = Params::parse(parameters)?;
        for child in 0..params.children_max() {
            let path = directory.join(params.file_name(child));
            match params.own.existing {
                Existing::Refuse => check_free([path])?,
                Existing::Read | Existing::TakeOver => check_found(&path, &params.shared)?,
            }
        }
        log::check_place(&params.shared, params.logs())?;
        Ok(Box::new(Plan {
            params,
            left_out,
            directory: directory.to_owned(),
        }))
    }
}

const LINEAGE: &str = "\
IOzone by William D. Norcott and Don Capps, https://www.iozone.org; its throughput mode (-t), \
order of phases and figures of revision 3.488 and later";

const TIMING: &str = "\
children = Σ Bᵢ / (dᵢ − sᵢ) over the children, from when each begins until it is done or is \
stopped by the first that is; parent = Σ Bᵢ / (max eᵢ − t0), until the last has closed its file. \
fsync and close are before d where included, and always before e";

const DESCRIPTION: &str = "\
Each child, a thread or a process, has its own file. Before every phase the file system is \
synced; then all children open theirs, start together and move its records; when the first is done \
the others are stopped, unless the stonewall is off, and what they have moved by then counts. In the mixed phase some children read \
and the others write; it is no mix of operations. What the children see, the sum of their rates, \
is what users of the original quote; it adds rates from different intervals. What the parent sees \
is lower: its time includes what stopped writers add to complete their files. Both are given, with \
the slowest child, the fastest and the mean. The counters hold the bytes of the child that moved \
least, under phase, file, record and children.";

/// A trial ready to be executed.
struct Plan {
    params: Params,
    left_out: Vec<Phase>,
    directory: PathBuf,
}

impl Trial for Plan {
    fn effective(&self) -> Map<String, Value> {
        self.params.effective()
    }

    fn timing(&self) -> Timing {
        self.params.shared.clock_reading()
    }

    fn threads(&self) -> usize {
        self.params.children_max() as usize
    }

    fn run(self: Box<Self>, event_sink: &mut EventSink) -> Result<(), Failure> {
        if !self.left_out.is_empty() {
            event_sink.warning(
                "phases-left-out",
                "fwrite and fread use C streams, which ignore direct access: left out",
                Some("measure them with access in-cache"),
            );
        }
        warn_of_depth(&self.params.shared, event_sink);
        run::run(&self.params, &self.directory, event_sink)
    }
}

#[cfg(test)]
mod tests;
