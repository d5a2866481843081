//! Carrying it out: three timed regions, in each of which all threads do the same.

use std::path::Path;
use std::sync::Arc;

use kit::content::Filling;
use kit::failure::failure;
use kit::probe::Reading;
use kit::team::{self, Finish, Member};
use kit::{Content, EventSink, Probe, Size};
use wire::{Failure, FailureKind};

use super::call::{self, CallsOfRun};
use super::files::Opening;
use super::measures;
use super::params::{Fill, Params};
use super::phase_times::{calendar_s, PhaseTimes};
use super::tally::Tally;
use super::thread::Thread;
use crate::backend::Backend;
use crate::io::watch::{Alone, Watch};
use crate::working_dir::WorkingDirGuard;

/// Executes a trial in `directory`, with a thread for each of `params`.
///
/// # Errors
/// Whatever the kernel refused; `Verification` when a file does not hold what it should.
pub fn run<B: Backend + Copy + Send, P: Probe + Default + Send>(
    backend: B,
    opening: Opening,
    params: &[Params],
    directory: &Path,
    event_sink: &mut EventSink,
) -> Result<(), Failure> {
    let mixed = mixed(&params[0], event_sink)?;
    let working_dir = Arc::new(WorkingDirGuard::enter(directory));
    let threads = (0..).zip(params).map(|(index, params)| {
        let way = (backend, opening);
        Thread::new(way, (index, params), &working_dir, mixed.as_ref())
    });
    let mut run = Run::<B, P> {
        threads: threads.collect::<Result<_, _>>()?,
        probe: P::default(),
    };
    let outcome = run.measure(&params[0], event_sink);
    for thread in &run.threads {
        event_sink.totals.checksum ^= thread.checksum();
    }
    let tally: Tally = run.threads.iter().map(|thread| *thread.tally()).sum();
    event_sink.totals.counters.extend(tally.counters());
    let times = outcome?;
    run.threads
        .iter_mut()
        .try_for_each(Thread::remove_directories)?;
    for (thread, params) in run.threads.iter().zip(params) {
        let tally = thread.tally();
        if !tally.adds_up(params) {
            let message = format!("did {tally:?}, which is not what was asked for");
            return Err(failure(FailureKind::Internal, message));
        }
    }
    let mut calls = CallsOfRun::new();
    for thread in &run.threads {
        calls.merge(thread.calls());
    }
    let rates = measures::samples(&tally, &times).into_iter();
    for sample in rates.chain(call::samples(&calls)) {
        event_sink.sample(sample);
    }
    Ok(())
}

/// What is written in place of the text, where that is asked for.
fn mixed(params: &Params, event_sink: &mut EventSink) -> Result<Option<Content>, Failure> {
    match params.content {
        Filling::Named(Fill::Text) => Ok(None),
        Filling::Shares(shares) => {
            let block = params.write_block.min(Size(params.size.largest.into()));
            Content::checked(block.bytes() as usize, shares, event_sink).map(Some)
        }
    }
}

/// A timed region.
#[derive(Debug, Clone, Copy)]
enum Region {
    Creation,
    Transactions,
    Deletion,
}

impl Region {
    fn perform<B: Backend + Copy, P: Probe>(
        self,
        thread: &mut Thread<B, P>,
        watch: &mut impl Watch,
    ) -> Result<(), Failure> {
        match self {
            Region::Creation => thread.create_pool(watch),
            Region::Transactions => thread.transact(watch),
            Region::Deletion => thread.delete_pool(watch),
        }
    }
}

/// A trial under way.
struct Run<'a, B: Backend, P: Probe> {
    threads: Vec<Thread<'a, B, P>>,
    /// That of a thread alone.
    probe: P,
}

impl<B: Backend + Copy + Send, P: Probe + Default + Send> Run<'_, B, P> {
    fn measure(
        &mut self,
        params: &Params,
        event_sink: &mut EventSink,
    ) -> Result<PhaseTimes, Failure> {
        self.threads
            .iter_mut()
            .try_for_each(Thread::make_directories)?;
        // About as many files are deleted at the end as were created at the start.
        let [files, transactions] = [params.files, params.transactions].map(f64::from);
        let share = |done: f64| done / (files + transactions + files);

        event_sink.progress(0.0, "creating files");
        let begun_s = calendar_s();
        let (creation, created_s) = self.region(Region::Creation, event_sink)?;
        event_sink.progress(share(files), "performing transactions");
        let (transacting, transacted_s) = self.region(Region::Transactions, event_sink)?;
        event_sink.progress(share(files + transactions), "deleting files");
        let (deletion, deleted_s) = self.region(Region::Deletion, event_sink)?;
        let calendar_s = [begun_s, created_s, transacted_s, deleted_s];
        Ok(PhaseTimes {
            creation,
            transactions: transacting,
            deletion,
            calendar_s,
        })
    }

    /// One region, and the second in which it ended.
    fn region(
        &mut self,
        region: Region,
        event_sink: &mut EventSink,
    ) -> Result<(Reading, u64), Failure> {
        match &mut self.threads[..] {
            [thread] => {
                let mut alone = Alone(&mut self.probe);
                alone.start()?;
                let outcome = region.perform(thread, &mut alone);
                let reading = self.probe.finish();
                let ended_s = calendar_s();
                // What was done until it failed is in the event sink too.
                event_sink.add(&reading);
                outcome.map(|()| (reading, ended_s))
            }
            several => {
                let outcome = team::execute(
                    several,
                    Finish::Everyone,
                    P::default,
                    |thread, member: &mut Member<P>| {
                        member.start()?;
                        region.perform(thread, member)
                    },
                )?;
                let ended_s = calendar_s();
                event_sink.add(&outcome.reading);
                Ok((outcome.reading, ended_s))
            }
        }
    }
}

#[cfg(test)]
mod tests;
