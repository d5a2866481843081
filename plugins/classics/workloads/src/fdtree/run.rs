//! The phases, one after another, on a tree that is removed however they end.

use std::path::{Path, PathBuf};

use kit::removal;
use kit::{EventSink, OperationProbe, Probe};
use rustix::time::{clock_gettime, ClockId};
use wire::Failure;

use super::executor::{Executor, ProgramExecutor, SyscallExecutor};
use super::measures::{samples, Measured};
use super::params::{BackendName, Mode, Params, Phases};
use super::phase::Phase;
use super::tree::{Entries, Walk};
use storage::backend::{Null, Sync};

/// Executes the trial on the tree at `root`.
///
/// # Errors
/// See [`storage::workload::Trial::run`].
pub fn run(params: &Params, root: &Path, event_sink: &mut EventSink) -> Result<(), Failure> {
    match (params.mode, params.backend) {
        (Mode::InProcess, BackendName::Sync) => walk(
            SyscallExecutor::new(Sync, params)?,
            params,
            root,
            event_sink,
        ),
        (Mode::InProcess, BackendName::Null) => walk(
            SyscallExecutor::new(Null, params)?,
            params,
            root,
            event_sink,
        ),
        (Mode::Spawn, _) => walk(ProgramExecutor::find(params)?, params, root, event_sink),
    }
}

fn walk<H: Executor>(
    mut executor: H,
    params: &Params,
    root: &Path,
    event_sink: &mut EventSink,
) -> Result<(), Failure> {
    let all: u64 = params.chosen().map(|phase| params.operations(phase)).sum();
    let mut tree = Tree {
        walk: Walk::new(params.shape(), root),
        root: root.to_owned(),
        is_ours: false,
    };
    let mut probe = OperationProbe::new();
    let begun_s = now_s();
    let mut done = 0;
    for phase in params.chosen() {
        event_sink.progress(done as f64 / all as f64, phase.label());
        let in_s = now_s() - begun_s;
        probe.start();
        let outcome = tree.perform(phase, &mut executor, &mut probe);
        let reading = probe.finish();
        let out_s = now_s() - begun_s;
        event_sink.add(&reading);
        let counters = &mut event_sink.totals.counters;
        for (what, count) in [
            ("", reading.operations as i64),
            ("_in_s", in_s),
            ("_out_s", out_s),
        ] {
            let count = u64::try_from(count).unwrap_or_default();
            counters.insert(format!("{}{what}", phase.name()), count);
        }
        outcome?;
        assert_eq!(reading.operations, params.operations(phase));
        done += reading.operations;
        let measured = Measured {
            phase,
            reading,
            calendar_s: u64::try_from(out_s - in_s).unwrap_or_default(),
        };
        for sample in samples(&measured) {
            event_sink.sample(sample);
        }
    }
    tree.is_ours &= params.phases != Phases::Create;
    Ok(())
}

/// The tree. Dropping it removes what the trial has made and not yet removed.
struct Tree {
    walk: Walk,
    root: PathBuf,
    /// Whether the root was made by the trial, and is still there.
    is_ours: bool,
}

impl Tree {
    fn perform<H: Executor>(
        &mut self,
        phase: Phase,
        executor: &mut H,
        probe: &mut OperationProbe,
    ) -> Result<(), Failure> {
        let mut visit = |entries: &mut Entries| executor.perform(phase, entries, probe);
        if phase == Phase::CreateDirectories {
            self.walk.root(&mut visit)?;
            self.is_ours = true;
        }
        self.walk.below(phase, &mut visit)?;
        if phase == Phase::RemoveDirectories {
            self.walk.root(&mut visit)?;
            self.is_ours = false;
        }
        Ok(())
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        if self.is_ours {
            // It is the failure of the trial that is reported.
            let _ = removal::remove(&self.root);
        }
    }
}

/// Whole seconds since 1970, as the shell counts them.
fn now_s() -> i64 {
    clock_gettime(ClockId::RealtimeCoarse).tv_sec
}
