//! The one switch: from the names of backend and timing to the loops compiled for them.

use std::path::Path;

use kit::{Ledger, OperationProbe, PassProbe, Probe};
use wire::{AccessKind, Failure, Timing};

use super::params::BackendName;
use super::{Channel, Queued, Single};
use crate::access::Evidence;
use crate::backend::libaio::Libaio;
use crate::backend::{Backend, Mmap, Null, Sync, Uring};

/// A trial, whatever it moves its blocks with.
pub trait Walk {
    /// Walks over the grid: files are made with `backend`, blocks moved by `C` and counted in a
    /// `P`. Without I/O there is no evidence.
    ///
    /// # Errors
    /// See [`crate::workload::Trial::run`].
    fn walk<B, C, P>(
        &self,
        backend: &B,
        evidence: Option<&mut Evidence>,
        ledger: &mut Ledger,
    ) -> Result<(), Failure>
    where
        B: Backend + std::marker::Sync,
        C: Channel,
        P: Probe + Clone + Default + Send;
}

/// What of the parameters decides which loops are executed.
#[derive(Debug, Clone, Copy)]
pub struct Choice {
    /// How blocks are moved.
    pub backend: BackendName,
    /// How often the clock is read.
    pub timing: Timing,
    /// Where reads are served from.
    pub access: AccessKind,
}

/// Executes `trial` in `directory` with what was chosen.
///
/// # Errors
/// See [`crate::workload::Trial::run`].
pub fn run<W: Walk>(
    trial: &W,
    choice: Choice,
    directory: &Path,
    ledger: &mut Ledger,
) -> Result<(), Failure> {
    match choice.backend {
        BackendName::Sync => observed::<_, Single<Sync>>(trial, choice, directory, ledger),
        BackendName::Mmap => observed::<_, Single<Mmap>>(trial, choice, directory, ledger),
        BackendName::Libaio => observed::<_, Queued<Libaio>>(trial, choice, directory, ledger),
        BackendName::Uring => observed::<_, Queued<Uring>>(trial, choice, directory, ledger),
        BackendName::Null => timed::<_, _, Single<Null>>(trial, choice, &Null, None, ledger),
    }
}

/// With evidence for the declared access.
fn observed<W: Walk, C: Channel>(
    trial: &W,
    choice: Choice,
    directory: &Path,
    ledger: &mut Ledger,
) -> Result<(), Failure> {
    let mut evidence = Evidence::new(choice.access, directory);
    let some = Some(&mut evidence);
    let walked = timed::<_, _, C>(trial, choice, &Sync, some, ledger);
    evidence.end_trial(walked, ledger)
}

fn timed<W: Walk, B: Backend + std::marker::Sync, C: Channel>(
    trial: &W,
    choice: Choice,
    backend: &B,
    evidence: Option<&mut Evidence>,
    ledger: &mut Ledger,
) -> Result<(), Failure> {
    match choice.timing {
        Timing::Pass => trial.walk::<B, C, PassProbe>(backend, evidence, ledger),
        Timing::Operation => trial.walk::<B, C, OperationProbe>(backend, evidence, ledger),
    }
}
