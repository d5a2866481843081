//! What the two primitives, `stream` and `random`, have in common: a file for each thread, whose
//! blocks are moved by one of the pumps of [`crate::io`]. They differ by the sequence of blocks.

mod channel;
pub mod measures;
mod order;
pub mod params;
mod thread_files;

use std::marker::PhantomData;
use std::path::{Path, PathBuf};

use kit::trial::Planned;
use kit::{EventSink, OperationProbe, PassProbe, Probe};
use serde::Serialize;
use serde_json::{Map, Value};
use wire::{Failure, Timing};

pub use self::channel::Channel;
use self::channel::{Queued, Single, Work};
use self::measures::Directed;
pub use self::order::{Mix, Permuted, Sequential, Skewed, Uniform};
use self::params::{BackendName, Cell, Common};
use self::thread_files::{check_names, Files};
pub use self::thread_files::{Outcome, Task, ThreadFiles};
use super::Trial;
use crate::access::Evidence;
use crate::backend::libaio::Libaio;
use crate::backend::{Backend, Mmap, Null, Sync, Uring};
use crate::io::Step;

/// The parameters of a primitive, and what it does with them.
pub trait Primitive: Serialize + Send {
    /// Name of the workload.
    const NAME: &'static str;

    /// Those that all primitives have.
    fn common(&self) -> Common<'_>;

    /// Whether files are laid out before they are worked on.
    fn lays_out(&self) -> bool;

    /// Regions that are timed on the files of a cell.
    fn regions(&self) -> usize;

    /// Executes the regions of a cell, and hands over their samples.
    ///
    /// # Errors
    /// See [`Trial::run`].
    fn measure<B, C, P>(&self, context: &mut CellContext<B, C, P>) -> Result<(), Failure>
    where
        B: Backend + std::marker::Sync,
        C: Channel,
        P: Probe + Clone + Default + Send;
}

/// A trial of a primitive, ready to be executed.
struct Plan<P> {
    params: P,
    directory: PathBuf,
}

/// Checks that the names of the files in `directory` are free.
///
/// # Errors
/// `Refused`, naming the file in the way.
pub fn plan<P: Primitive + 'static>(params: P, directory: &Path) -> Planned {
    check_names(directory, P::NAME, params.common().grid.threads_max())?;
    Ok(Box::new(Plan {
        params,
        directory: directory.to_owned(),
    }))
}

impl<P: Primitive> Trial for Plan<P> {
    fn effective(&self) -> Map<String, Value> {
        kit::params::effective(&self.params)
    }

    fn timing(&self) -> Timing {
        self.params.common().timing
    }

    fn threads(&self) -> usize {
        self.params.common().grid.threads_max() as usize
    }

    /// The one switch: from the names of backend and timing to the loops compiled for them.
    fn run(self: Box<Self>, event_sink: &mut EventSink) -> Result<(), Failure> {
        match self.params.common().backend {
            BackendName::Sync => self.observed::<Single<Sync>>(event_sink),
            BackendName::Mmap => self.observed::<Single<Mmap>>(event_sink),
            BackendName::Libaio => self.observed::<Queued<Libaio>>(event_sink),
            BackendName::Uring => self.observed::<Queued<Uring>>(event_sink),
            BackendName::Null => self.timed::<_, Single<Null>>(&Null, None, event_sink),
        }
    }
}

impl<P: Primitive> Plan<P> {
    /// With evidence for the declared access.
    fn observed<C: Channel>(&self, event_sink: &mut EventSink) -> Result<(), Failure> {
        let mut evidence = Evidence::new(self.params.common().access, &self.directory);
        let walked = self.timed::<_, C>(&Sync, Some(&mut evidence), event_sink);
        evidence.end_trial(walked, event_sink)
    }

    fn timed<B: Backend + std::marker::Sync, C: Channel>(
        &self,
        backend: &B,
        evidence: Option<&mut Evidence>,
        event_sink: &mut EventSink,
    ) -> Result<(), Failure> {
        match self.params.common().timing {
            Timing::Pass => self.walk::<B, C, PassProbe>(backend, evidence, event_sink),
            Timing::Operation => self.walk::<B, C, OperationProbe>(backend, evidence, event_sink),
        }
    }

    /// Over the grid: files are made with `backend`, blocks moved by `C` and counted in an `M`.
    /// Without I/O there is no evidence.
    fn walk<B, C, M>(
        &self,
        backend: &B,
        mut evidence: Option<&mut Evidence>,
        event_sink: &mut EventSink,
    ) -> Result<(), Failure>
    where
        B: Backend + std::marker::Sync,
        C: Channel,
        M: Probe + Clone + Default + Send,
    {
        let common = self.params.common();
        let cells = common.grid.cells();
        let regions = (cells.len() * self.params.regions()) as f64;
        let files = Files {
            workload: P::NAME,
            content: common.content,
            cache_limit: common.cache_limit,
        };
        for (index, cell) in cells.into_iter().enumerate() {
            let directory = &self.directory;
            let thread_files =
                ThreadFiles::new(backend, directory, files, cell, &mut evidence, event_sink)?;
            if self.params.lays_out() {
                thread_files.lay_out()?;
            }
            self.params.measure(&mut CellContext::<B, C, M> {
                thread_files: &thread_files,
                common,
                cell,
                done: (index * self.params.regions()) as f64 / regions,
                each: 1.0 / regions,
                evidence: &mut evidence,
                event_sink,
                loops: PhantomData,
            })?;
        }
        Ok(())
    }
}

/// The files of a cell, and where its regions report to.
pub struct CellContext<'s, 'e, 'l, B: Backend, C, P> {
    thread_files: &'s ThreadFiles<'s, B>,
    common: Common<'s>,
    /// The point of the grid.
    pub cell: Cell,
    done: f64,
    each: f64,
    evidence: &'s mut Option<&'e mut Evidence>,
    /// Takes samples and warnings.
    pub event_sink: &'s mut EventSink<'l>,
    loops: PhantomData<(C, P)>,
}

impl<'s, B, C, P> CellContext<'s, '_, '_, B, C, P>
where
    B: Backend + std::marker::Sync,
    C: Channel,
    P: Probe + Clone + Default + Send,
{
    /// The task to move each block once, in these directions.
    pub fn task(&self, reads: bool, writes: bool) -> Task<'s> {
        let (common, cell) = (&self.common, self.cell);
        Task {
            work: Work {
                content: self.thread_files.content(),
                block_bytes: cell.block.bytes() as usize,
                depth: cell.depth,
                verify: common.verify,
                pace: None,
                operations: cell.blocks(),
                runtime_ns: u64::MAX,
            },
            rate: None,
            threads: cell.threads,
            reads,
            writes,
            access: common.access,
            file_bytes: cell.blocks() * cell.block.bytes(),
            include_fsync: common.include_fsync,
        }
    }

    /// All threads execute `task`, shown as `label`, each with its own steps.
    ///
    /// # Errors
    /// The first failure of a thread; `Access`.
    pub fn perform<S: Iterator<Item = Step>>(
        &mut self,
        label: String,
        task: &Task,
        steps: impl Fn(usize) -> S + std::marker::Sync,
    ) -> Result<Outcome, Failure> {
        self.event_sink.progress(self.done, label);
        self.done += self.each;
        let (evidence, event_sink) = (&mut *self.evidence, &mut *self.event_sink);
        self.thread_files
            .perform::<C, P, S>(task, steps, evidence, event_sink)
    }
}
