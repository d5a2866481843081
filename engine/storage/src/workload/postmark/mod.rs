//! PostMark: many short-lived small files, as a mail, news or web server has them.
//!
//! Origin: J. Katcher, "PostMark: A New File System Benchmark", NetApp TR-3022, 1997.
//! Reimplemented from its behaviour; with the same parameters it performs the same operations on
//! the same files in the same order as versions 1.51 and 1.53.
//!
//! Timing, with t read from CLOCK_MONOTONIC:
//! ```text
//! creation     = t(last file of the pool closed)   - t(before the first is opened)
//! transactions = t(last transaction done)          - t(before the first)
//! deletion     = t(last file removed)              - t(before the first is removed)
//! total        = creation + transactions + deletion
//! ```
//! Inside: deciding, open, read or write, close, unlink; nothing is synced, as in the original.
//! With `timing` "operation", the clock is read between these parts too, for the time of each
//! ([`call`]).
//! Outside: making and removing subdirectories.

mod bias;
mod call;
mod files;
mod measures;
mod model;
mod names;
mod params;
mod phase_times;
mod pool;
mod range;
mod run;
mod tally;
mod text;
mod thread;

use std::path::{Path, PathBuf};

use kit::failure::{bad_parameter, failure, io_failure};
use kit::trial::Planned;
use kit::{EventSink, OperationProbe, PassProbe, Probe};
use serde_json::{json, Map, Value};
use wire::{Card, Failure, FailureKind, TargetKind, Timing};

use self::files::Opening;
use self::model::OutOfFiles;
use self::params::{Backend, Params};
use super::{Trial, Workload};
use crate::backend::{self, Null, Stdio, Sync};

/// The workload.
pub struct Postmark;

impl Workload for Postmark {
    fn name(&self) -> &'static str {
        "postmark"
    }

    fn card(&self) -> Card {
        Card {
            name: self.name().to_owned(),
            title: "PostMark".to_owned(),
            target: TargetKind::Directory,
            about: "short-lived small files: a mail, news or web server".to_owned(),
            lineage: LINEAGE.to_owned(),
            timing: TIMING.to_owned(),
            description: DESCRIPTION.to_owned(),
            parameters: kit::params::schema::<Params>(),
            metrics: measures::cards().into_iter().chain(call::cards()).collect(),
            grid: Vec::new(),
            usual: json!({"files": 1_000, "transactions": 20_000}),
            smoke: json!({
                "files": 20, "transactions": 50, "size": "100..5000", "subdirectories": 2
            }),
        }
    }

    fn plan(&self, parameters: &Map<String, Value>, directory: &Path) -> Planned {
        let params: Params = kit::params::read(parameters)?;
        params.check()?;
        let threads = (0..params.threads).map(|index| params.of_thread(index));
        let threads = threads.collect();
        if params.backend == Backend::Real {
            refuse_to_overwrite(directory, &params)?;
        }
        Ok(Box::new(Plan {
            params,
            directory: directory.to_owned(),
            threads,
        }))
    }
}

const LINEAGE: &str = "\
PostMark by Jeffrey Katcher, NetApp (TR-3022, 1997). As in its versions 1.51 and 1.53, the same \
seed performs the same operations on the same files.";

const TIMING: &str = "\
transactions / s = T / (t1 - t0), t0 before the first transaction, t1 after the last; inside are \
the decisions, open, read or write, close and unlink, and no sync. The whole run is creation + \
transactions + deletion, each timed alike; making and removing subdirectories is outside.";

const DESCRIPTION: &str = "\
A pool of small files of random sizes is created. Then come the transactions, one after another: \
each reads a whole file or appends to one, then creates a file or deletes one. At last all files \
are deleted. One thread works without pause; nothing is synced, so what is measured is mostly the \
file system's name space and the page cache, unless the pool is larger than memory. With \
`threads` (which is not PostMark: figures of several threads and of the original must not be \
compared) each thread has a pool, a directory and a sequence of its own; all begin each of the three \
phases together, and rates are those of all over the time until the last is done. The defaults \
are the original's and are over in a moment; 20,000 files and 100,000 transactions or more say \
more. Every file holds the beginning of the same printable text, unless `content` says otherwise.";

/// Transactions of all threads that are decided beforehand when a job is validated, to see whether
/// files run out: about a second. Later ones are found when they happen.
const FORESEEN: u32 = 10_000_000;

/// A trial ready to be executed.
struct Plan {
    params: Params,
    directory: PathBuf,
    /// The parameters of each thread, with its own seed.
    threads: Vec<Params>,
}

impl Trial for Plan {
    fn effective(&self) -> Map<String, Value> {
        kit::params::effective(&self.params)
    }

    fn timing(&self) -> Timing {
        self.params.timing
    }

    fn threads(&self) -> usize {
        self.threads.len()
    }

    fn foresee(&self) -> Result<(), Failure> {
        let transactions_max = FORESEEN / self.params.threads;
        let mut at_risk = self.threads.iter().filter(|params| params.may_run_out());
        at_risk.try_for_each(|params| {
            let mut beginning = params.clone();
            beginning.transactions = params.transactions.min(transactions_max);
            let end = model::rehearse(&beginning);
            end.map(drop).map_err(|end| out_of_files(params, end))
        })
    }

    fn run(self: Box<Self>, event_sink: &mut EventSink) -> Result<(), Failure> {
        match self.params.timing {
            Timing::Pass => self.run_with::<PassProbe>(event_sink),
            Timing::Operation => self.run_with::<OperationProbe>(event_sink),
        }
    }
}

impl Plan {
    fn run_with<P: Probe + Default + Send>(
        &self,
        event_sink: &mut EventSink,
    ) -> Result<(), Failure> {
        match (self.params.backend, self.params.buffering) {
            (Backend::Null, _) => self.run_on::<_, P>(Null, Opening::CALLS, event_sink),
            (Backend::Real, false) => self.run_on::<_, P>(Sync, Opening::CALLS, event_sink),
            (Backend::Real, true) => {
                let streams = Stdio { buffer_bytes: None };
                self.run_on::<_, P>(streams, Opening::STREAMS, event_sink)
            }
        }
    }

    fn run_on<B: backend::Backend + Copy + Send, P: Probe + Default + Send>(
        &self,
        backend: B,
        opening: Opening,
        event_sink: &mut EventSink,
    ) -> Result<(), Failure> {
        run::run::<B, P>(backend, opening, &self.threads, &self.directory, event_sink)
    }
}

fn out_of_files(params: &Params, end: OutOfFiles) -> Failure {
    let (files, transactions) = (params.files, params.transactions);
    let bias_create = params.bias_create;
    let message = format!(
        "parameter \"transactions\": all files are deleted after {} of {transactions}; \
         use more files than {files}, a bias_create above {bias_create}, or fewer transactions",
        end.after
    );
    bad_parameter("transactions", message)
}

/// Files are opened as the original opens them, which would overwrite what is there.
fn refuse_to_overwrite(directory: &Path, params: &Params) -> Result<(), Failure> {
    let failed = |error| io_failure("list directory", directory, &error);
    for entry in directory.read_dir().map_err(failed)? {
        let name = entry.map_err(failed)?.file_name();
        if names::is_in_the_way(&name, params) {
            let message = format!(
                "{} might be overwritten; remove it or use another directory",
                directory.join(name).display()
            );
            return Err(failure(FailureKind::Refused, message));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
