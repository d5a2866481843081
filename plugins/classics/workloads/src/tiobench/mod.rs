//! tiobench: several threads, each with its own large file, write and read it in order and
//! at random.
//!
//! Timing formula of a phase: rate = bytes of all threads / (t1 − t0); t0 when all threads are
//! there and released, t1 when the last has closed its file. Opening, fsync (after writes;
//! after reads too where the version does it) and closing are inside. The latency of an operation
//! is the time of one read or write: opening, seeking and fsync are outside.
//!
//! Lineage: tiotest by Mika Kuoppala, 2000, <https://github.com/mkuoppal/tiobench>; behaviour of
//! release 0.3.3 and of the repository in 2017 and 2024, by parameter.
//!
//! Known deviations: files are made empty before the clock starts, and one in the way is
//! refused; files that no write phase makes are laid out before they are read; a gate lets the threads go at once
//! where the original looks once a second; random blocks have a seed; CPU time is that of the
//! threads, by the scheduler's clock; what the 2017 version credits to random phases is given as
//! the native figure only, and its unit says so.

mod measures;
mod params;
mod run;
mod version;

use std::path::Path;

use kit::trial::{self, Planned};
use serde_json::{json, Map, Value};
use wire::{Card, TargetKind};

use self::params::Params;
use storage::scratch::check_free;
use storage::workload::Workload;

/// The workload; see the module.
pub struct Tiobench;

impl Workload for Tiobench {
    fn name(&self) -> &'static str {
        "tiobench"
    }

    fn card(&self) -> Card {
        Card {
            name: self.name().to_owned(),
            title: "Tiobench".to_owned(),
            target: TargetKind::Directory,
            about: "threads that write and read a large file each, in order and at random"
                .to_owned(),
            lineage: LINEAGE.to_owned(),
            timing: TIMING.to_owned(),
            description: DESCRIPTION.to_owned(),
            parameters: kit::params::schema::<Params>(),
            metrics: measures::cards(),
            grid: ["file", "block", "threads"].map(str::to_owned).into(),
            usual: json!({"file": "64M", "threads": [1, 4], "random_operations": 16_000}),
            smoke: json!({
                "file": "64k", "block": ["4k", "16k"], "threads": [1, 3], "random_operations": 9
            }),
        }
    }

    fn plan(&self, parameters: &Map<String, Value>, directory: &Path) -> Planned {
        let params = Params::parse(parameters)?;
        let files = 0..params.threads_max();
        check_free(files.map(|index| run::file_in(directory, index)))?;
        let (threads, directory) = (params.threads_max(), directory.to_owned());
        Ok(trial::ready(params, threads, move |params, event_sink| {
            run::run(params, &directory, event_sink)
        }))
    }
}

const LINEAGE: &str = "\
tiotest by Mika Kuoppala, 2000, https://github.com/mkuoppal/tiobench; calls and native figures of \
release 0.3.3 or of the repository in May 2017 (Phoronix profiles 1.3) or October 2024";

const TIMING: &str = "\
rate = bytes of all threads / (t1 − t0) for each phase; t0 when all threads are released, t1 \
when the last has closed its file; opening, fsync and closing are inside. The latency of an \
operation is the time of its read or write alone";

const DESCRIPTION: &str = "\
Each thread has its own file. In every phase all threads open theirs, move its blocks (all \
in order, or a number of random ones), wait with fsync until what they wrote is on the device, \
and close it. Reads follow writes of the same files, so that they come from the page cache unless \
access is direct; either is verified. The versions of the original differ: 0.3.3 lets files grow \
as they are written, the later ones give them their size first, so that writes fill holes (random ones \
too, where no write phase comes before them); 0.3.3 \
never touches the last block at random; the one of 2017 divides the size of the whole files by \
the time of the random phases, however few blocks were moved. Here, a value is always that of the \
bytes moved; the native figure is the version's own, and its unit says when it is inflated.";

#[cfg(test)]
mod tests;
