//! aio-stress: many asynchronous requests in flight on one or more files, in up to four stages.
//!
//! Timing formulas of a stage, over the bytes requested by all threads: rate = bytes / (t2 − t0)
//! and rate before fsync = bytes / (t1 − t0); t0 when all threads are released, t1 when the
//! last completion has been reaped, t2 when the last file has been synced. The latency of a
//! request runs from the return of its io_submit until the return of the io_getevents that
//! reaped it.
//!
//! Lineage: aio-stress 0.21 by Chris Mason, SUSE; the same rounds of the same calls.
//!
//! Known deviations: files are new, and one in the way is refused; files that are read but not
//! written are laid out first; random offsets are whole records unless `classic`; every context
//! has an AIO context of the size it needs instead of 512; completions count in the stage that began
//! them, also for latencies; a request that fails or is cut short ends the trial.

mod buffers;
mod disk;
mod fill;
mod measures;
mod offsets;
mod params;
mod run;
mod stage;
mod worker;

use std::path::Path;

use kit::trial::{self, Planned};
use serde_json::{json, Map, Value};
use wire::{Card, TargetKind};

use self::params::Params;
use storage::scratch::check_free;
use storage::workload::Workload;

/// The workload; see the module.
pub struct AioStress;

impl Workload for AioStress {
    fn name(&self) -> &'static str {
        "aio_stress"
    }

    fn card(&self) -> Card {
        Card {
            name: self.name().to_owned(),
            title: "AIO-Stress".to_owned(),
            target: TargetKind::Directory,
            about: "many asynchronous requests in flight on one or more files".to_owned(),
            lineage: LINEAGE.to_owned(),
            timing: TIMING.to_owned(),
            description: DESCRIPTION.to_owned(),
            parameters: kit::params::schema::<Params>(),
            metrics: measures::cards(),
            grid: ["record", "depth"].map(str::to_owned).into(),
            usual: json!({"file": "128M", "access": "direct", "depth": [4, 64]}),
            smoke: json!({
                "file": "256k", "files": 2, "record": ["4k", "16k"], "depth": 4, "batch": 2,
                "contexts": 2, "context_offset": "64k", "threads": 2, "stonewall": false
            }),
        }
    }

    fn plan(&self, parameters: &Map<String, Value>, directory: &Path) -> Planned {
        let mut params = Params::parse(parameters)?;
        let files = 0..params.files;
        check_free(files.map(|index| directory.join(params.file_name(index))))?;
        let asked = params.threads;
        params.threads = params.useful_threads();
        let (used, directory) = (params.threads, directory.to_owned());
        Ok(trial::ready(params, used, move |params, event_sink| {
            if used < asked {
                event_sink.warning(
                    "threads-left-out",
                    format!("threads share neither files nor contexts; {used} of {asked} work"),
                    Some("use more files or contexts"),
                );
            }
            run::run(params, &directory, event_sink)
        }))
    }
}

const LINEAGE: &str = "\
aio-stress 0.21 by Chris Mason, SUSE: the version of autotest and of the Phoronix profiles";

const TIMING: &str = "\
rate = bytes / (t2 − t0), rate before fsync = bytes / (t1 − t0) for each stage; t0 when all \
threads are released, t1 after the last completion, t2 after the last fsync. Latency of a \
request: from the return of its io_submit until it was reaped";

const DESCRIPTION: &str = "\
Each stage makes as many requests as records fit into the files (and contexts of files): all in \
order, or at random. Every round builds a batch of them for each file in turn and hands all over \
with one io_submit; when as many are in flight as the depth allows, at least a batch of \
completions is waited for. Then, unless switched off, the files are synced. \
Linux carries requests out inside io_submit unless access is direct: through the page cache this \
workload measures how fast memory is copied, and how long fsync takes, rather than how requests \
queue up. The original is mostly quoted with its figure before fsync; here, that is a detail. \
Its random offsets are aligned to pages, overlap, and never touch the first MiB, so that about a \
third of a file is left out; they are used when `classic` is true, and are then the same, request \
by request, for one thread. Otherwise whole records are drawn, each as likely as any other.";

#[cfg(test)]
mod tests;
