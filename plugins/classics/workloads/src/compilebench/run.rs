//! The steps, one after another, each a timed region on one tree.

use std::collections::HashMap;
use std::path::Path;
use std::time::Duration;

use kit::failure::failure;
use kit::gauges::own_cpu;
use kit::{clock, EventSink, OperationProbe, Probe, Reading};
use wire::{Failure, FailureKind};

use super::caches::Caches;
use super::choices::Choices;
use super::contents::{Amount, Contents};
use super::created_trees::CreatedTrees;
use super::group::name_of;
use super::measures::Tallies;
use super::name_space::{Imagined, NameSpace, OnDisk};
use super::order;
use super::params::{BackendName, Params};
use super::schedule::{schedule, Action, Step};
use super::sets::{SetName, Sets};
use super::worker::Worker;
use storage::backend::{Backend, File, Null, Stdio, Sync};

/// Executes the trial in `directory`.
///
/// # Errors
/// See [`storage::workload::Trial::run`].
pub fn run(
    params: &Params,
    sets: Sets,
    directory: &Path,
    event_sink: &mut EventSink,
) -> Result<(), Failure> {
    match params.backend {
        BackendName::Stdio => {
            let streams = Stdio { buffer_bytes: None };
            conduct::<_, OnDisk>(streams, params, sets, directory, event_sink)
        }
        BackendName::Sync => conduct::<_, OnDisk>(Sync, params, sets, directory, event_sink),
        BackendName::Null => conduct::<_, Imagined>(Null, params, sets, directory, event_sink),
    }
}

fn conduct<B: Backend, N: NameSpace>(
    backend: B,
    params: &Params,
    mut sets: Sets,
    directory: &Path,
    event_sink: &mut EventSink,
) -> Result<(), Failure> {
    let caches = Caches::new(params, directory, event_sink)?;
    let mut worker = Worker::<B, N>::new(backend, &sets, params, directory)?;
    if B::File::MOVES_DATA {
        event_sink.progress(0.0, "finding the order of files");
        order::arrange(&mut worker, &mut sets, directory)?;
    }
    let mut choices = Choices::seeded(params.seed);
    sets.reorder(SetName::Objects, |members| choices.shuffle(members));
    let steps = schedule(params, choices);
    let mut site = Site {
        worker,
        sets,
        caches,
        contents: HashMap::new(),
        trees: CreatedTrees::new(directory),
        tallies: Tallies::new(),
        probe: OperationProbe::new(),
    };
    let outcome = site.perform_all(&steps, event_sink);
    site.report(event_sink);
    outcome?;
    for sample in site.tallies.samples() {
        event_sink.sample(sample);
    }
    event_sink.progress(1.0, "removing trees");
    site.trees.clear()
}

/// Where a trial is under way. Dropping it removes all trees.
struct Site<B, N> {
    worker: Worker<B, N>,
    sets: Sets,
    caches: Caches,
    /// What must be in each tree.
    contents: HashMap<u32, Contents>,
    trees: CreatedTrees,
    tallies: Tallies,
    probe: OperationProbe,
}

impl<B: Backend, N: NameSpace> Site<B, N> {
    fn perform_all(&mut self, steps: &[Step], event_sink: &mut EventSink) -> Result<(), Failure> {
        for (index, step) in steps.iter().enumerate() {
            let label = step.stage.description().label;
            event_sink.progress(index as f64 / steps.len() as f64, label);
            self.perform(step, event_sink)?;
        }
        Ok(())
    }

    fn perform(&mut self, step: &Step, event_sink: &mut EventSink) -> Result<(), Failure> {
        let name = name_of(step.tree);
        self.caches.settle(step.settle, event_sink)?;
        if step.action == Action::Create {
            if B::File::MOVES_DATA {
                self.trees.make(&name)?;
            }
            self.contents.insert(step.tree, Contents::new(&self.sets));
        }
        let contents = &self.contents[&step.tree];
        let expected = contents.amount(step, &self.sets);
        self.worker.name_space.expect(contents, &self.sets);
        let before = self.caches.counters();
        let cpu = own_cpu();
        let reading = self.region(step, &name, event_sink)?;
        self.tallies.spend(step.stage, own_cpu_since(cpu));
        check(step, &reading, expected)?;
        let latencies = self.probe.histogram();
        self.tallies
            .add(step.stage, &reading, expected.bytes, latencies);
        if step.action == Action::Read && B::File::MOVES_DATA {
            let around = [before, self.caches.counters()];
            self.caches.weigh(step, reading.bytes, around, event_sink)?;
        }
        self.follow(step, &name)
    }

    /// One timed region. It ends in the event sink even if it fails.
    fn region(
        &mut self,
        step: &Step,
        name: &str,
        event_sink: &mut EventSink,
    ) -> Result<Reading, Failure> {
        let (probe, caches, sets) = (&mut self.probe, &self.caches, &self.sets);
        let (outcome, reading) = self.worker.within(name, |worker| {
            // Not settled: there are thousands of regions, and only their sum is reported.
            probe.start_at(clock::now_ns());
            let mut outcome = worker.perform(step, sets, probe);
            if outcome.is_ok() && step.is_synced {
                outcome = caches.sync();
            }
            Ok((outcome, probe.finish()))
        })?;
        event_sink.add(&reading);
        outcome.map(|()| reading)
    }

    fn follow(&mut self, step: &Step, name: &str) -> Result<(), Failure> {
        if step.action == Action::Delete {
            self.contents.remove(&step.tree);
            return match B::File::MOVES_DATA {
                true => self.trees.remove(name),
                false => Ok(()),
            };
        }
        let contents = self.contents.get_mut(&step.tree);
        let contents = contents.expect("a tree has contents until it is deleted");
        contents.follow(step, &self.sets);
        Ok(())
    }

    /// What can be said however the trial ended.
    fn report(&self, event_sink: &mut EventSink) {
        event_sink.totals.checksum ^= self.worker.checksum();
        event_sink.totals.counters.extend(self.tallies.counters());
        self.caches.report(event_sink);
    }
}

fn own_cpu_since([user, system]: [Duration; 2]) -> [Duration; 2] {
    let [user_now, system_now] = own_cpu();
    [
        user_now.saturating_sub(user),
        system_now.saturating_sub(system),
    ]
}

/// Whether a region did what it should have done.
fn check(step: &Step, reading: &Reading, expected: Amount) -> Result<(), Failure> {
    // What is removed is not moved.
    let bytes = match step.action {
        Action::Clean => 0,
        _ => expected.bytes,
    };
    if (reading.operations, reading.bytes) == (expected.entries, bytes) {
        return Ok(());
    }
    let message = format!(
        "{} of kernel-{} came to {} entries and {} bytes; there should have been {} and {bytes}",
        step.stage.description().label,
        step.tree,
        reading.operations,
        reading.bytes,
        expected.entries
    );
    Err(failure(FailureKind::Verification, message))
}
