//! The walk over the grid: cells, tests, passes; between them, what was found is handed over.

use std::path::PathBuf;

use kit::failure::{failure, interrupted};
use kit::{pattern, stop, Buffer, Content, Ledger, OperationProbe, PassProbe, Probe, Reading};
use serde_json::{json, Map, Value};
use wire::{AccessVerdict, Direction, Failure, FailureKind, Native, Sample, Timing, Unit};

use super::evidence::{refuted, Evidence};
use super::loops::Work;
use super::params::{BackendName, Cell, Fill, Params};
use super::pass::{Outcome, Stage};
use super::scratch::Scratch;
use super::table::{Pass, Test};
use crate::backend::{Backend, Null, Stdio, Sync};

/// Executes the trial: chooses, once, the loops that fit backend and timing.
///
/// # Errors
/// See [`crate::workload::Trial::run`].
pub fn run(params: &Params, path: PathBuf, ledger: &mut Ledger) -> Result<(), Failure> {
    let streams = |record_bytes| Stdio {
        buffer_bytes: Some(record_bytes),
    };
    match (params.backend, params.timing) {
        (BackendName::Sync, Timing::Pass) => {
            walk(params, path, ledger, (Sync, streams), PassProbe::new())
        }
        (BackendName::Sync, Timing::Operation) => {
            walk(params, path, ledger, (Sync, streams), OperationProbe::new())
        }
        (BackendName::Null, Timing::Pass) => {
            walk(params, path, ledger, (Null, |_| Null), PassProbe::new())
        }
        (BackendName::Null, Timing::Operation) => walk(
            params,
            path,
            ledger,
            (Null, |_| Null),
            OperationProbe::new(),
        ),
    }
}

/// `backends` are the plain one and a maker of the one for streams, which is given the size of
/// a record.
fn walk<B: Backend, S: Backend, P: Probe>(
    params: &Params,
    path: PathBuf,
    ledger: &mut Ledger,
    backends: (B, impl Fn(usize) -> S),
    probe: P,
) -> Result<(), Failure> {
    let evidence = (params.backend != BackendName::Null)
        .then(|| path.parent().map(|dir| Evidence::new(params.access, dir)))
        .flatten();
    let cells = params.cells();
    let passes: usize = params.tests.iter().map(|test| test.passes().len()).sum();
    let mut walk = Walk {
        params,
        path,
        plain: backends.0,
        probe,
        evidence,
        bytes_done: 0,
        bytes_all: cells.iter().map(|cell| cell.bytes()).sum::<u64>() * passes as u64,
        ledger,
    };
    let walked = cells
        .into_iter()
        .try_for_each(|cell| walk.cell(cell, &backends.1));
    let evidence = walk.evidence.take();
    ledger.totals.access = evidence.map(Evidence::conclude);
    walked?;
    match &ledger.totals.access {
        Some(access) if access.verdict == AccessVerdict::Contradicted => {
            Err(refuted(access.declared, &access.reason))
        }
        _ => Ok(()),
    }
}

struct Walk<'a, 'l, B, P> {
    params: &'a Params,
    path: PathBuf,
    plain: B,
    probe: P,
    evidence: Option<Evidence>,
    ledger: &'a mut Ledger<'l>,
    bytes_done: u64,
    bytes_all: u64,
}

impl<B: Backend, P: Probe> Walk<'_, '_, B, P> {
    /// All tests on one file, which is removed at the end.
    fn cell<S: Backend>(
        &mut self,
        cell: Cell,
        streams: &impl Fn(usize) -> S,
    ) -> Result<(), Failure> {
        let record_bytes = cell.record.bytes() as usize;
        let content = self.content(record_bytes)?;
        let mut buffer = Buffer::new(record_bytes).map_err(no_memory)?;
        let order = if self.params.tests.contains(&Test::Random) {
            pattern::random(cell.records())
        } else {
            Vec::new()
        };
        let scratch = Scratch::create(&self.plain, self.path.clone())?;
        if let Some(evidence) = &mut self.evidence {
            evidence.check_direct(scratch.path(), cell.record)?;
            scratch.settle_file_system()?;
        }
        let stage = Stage {
            scratch: &scratch,
            plain: &self.plain,
            params: self.params,
            work: Work {
                records: cell.records(),
                order: &order,
                stride: self.params.stride,
                verify: self.params.verify,
                content: &content,
            },
        };
        if !self.params.tests[0].fills_the_file() {
            stage.lay_out(&mut self.probe, &mut buffer)?;
        }
        let mut progress = Progress {
            cell,
            bytes_done: &mut self.bytes_done,
            bytes_all: self.bytes_all,
            ledger: self.ledger,
        };
        for &test in self.params.tests.iter() {
            for pass in test.passes() {
                progress.announce(pass);
                let (probe, evidence) = (&mut self.probe, &mut self.evidence);
                let outcome = if test.is_stream() {
                    stage.execute(pass, &streams(record_bytes), probe, &mut buffer, evidence)
                } else {
                    stage.execute(pass, &self.plain, probe, &mut buffer, evidence)
                }?;
                progress.hand_over(pass, &outcome);
                if stop::requested() {
                    return Err(interrupted());
                }
            }
        }
        Ok(())
    }

    fn content(&self, record_bytes: usize) -> Result<Content, Failure> {
        match self.params.content {
            Fill::Classic => Content::classic(record_bytes),
            Fill::Random => Content::random(record_bytes),
        }
        .map_err(no_memory)
    }
}

/// The ledger's view of a cell.
struct Progress<'a, 'l> {
    cell: Cell,
    bytes_done: &'a mut u64,
    bytes_all: u64,
    ledger: &'a mut Ledger<'l>,
}

impl Progress<'_, '_> {
    fn announce(&mut self, pass: &Pass) {
        let done = *self.bytes_done as f64 / self.bytes_all as f64;
        let Cell { file, record } = self.cell;
        let what = format!("{}, file {file}, record {record}", pass.label);
        self.ledger.progress(done, what);
    }

    fn hand_over(&mut self, pass: &Pass, outcome: &Outcome) {
        *self.bytes_done += self.cell.bytes();
        let Outcome { reading, checksum } = outcome;
        assert_eq!(reading.operations, self.cell.records());
        assert_eq!(reading.bytes, self.cell.bytes());
        let Some(metric) = pass.metric else {
            return;
        };
        let sum = &mut self.ledger.totals.checksum;
        *sum = sum.wrapping_add(*checksum);
        self.ledger.add(reading);
        self.ledger.sample(sample(metric, self.cell, reading));
    }
}

fn sample(metric: &str, cell: Cell, reading: &Reading) -> Sample {
    Sample {
        metric: metric.to_owned(),
        value: reading.bytes_per_s(),
        unit: Unit::BytesPerSecond,
        direction: Direction::Higher,
        at: grid_point(cell),
        operations: reading.operations,
        bytes: reading.bytes,
        elapsed_s: reading.elapsed_s(),
        native: Some(Native {
            value: (reading.bytes_per_s().floor() / 1024.0).floor(),
            unit: "kB/s".to_owned(),
        }),
        latency_ns: reading.latency.clone(),
    }
}

fn grid_point(cell: Cell) -> Map<String, Value> {
    [("file", cell.file), ("record", cell.record)]
        .map(|(name, size)| (name.to_owned(), json!(size)))
        .into_iter()
        .collect()
}

fn no_memory(error: std::io::Error) -> Failure {
    failure(
        FailureKind::HostLacks,
        format!("no memory for the buffers of records: {error}"),
    )
}
