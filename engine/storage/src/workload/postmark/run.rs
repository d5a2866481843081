//! Carrying it out: three timed regions, in each of which all threads do the same.

use std::path::Path;
use std::sync::Arc;

use kit::content::Filling;
use kit::failure::failure;
use kit::probe::Reading;
use kit::team::{self, Finish, Member};
use kit::{Content, Ledger, Probe, Size};
use wire::{Failure, FailureKind};

use super::call::{self, CallsOfRun};
use super::course::{calendar_s, Course};
use super::files::Opening;
use super::measures;
use super::params::{Fill, Params};
use super::tally::Tally;
use super::thread::Thread;
use crate::backend::Backend;
use crate::io::watch::{Alone, Watch};
use crate::stand::Stand;

/// What one thread is to do.
pub struct Part {
    /// The parameters, with a seed of its own.
    pub params: Params,
    /// What its rehearsal came to.
    pub expected: Tally,
}

/// Executes a trial in `directory`, with a thread for each of `parts`.
///
/// # Errors
/// Whatever the kernel refused; `Verification` when a file does not hold what it should.
pub fn run<B: Backend + Copy + Send, P: Probe + Default + Send>(
    backend: B,
    opening: Opening,
    parts: &[Part],
    directory: &Path,
    ledger: &mut Ledger,
) -> Result<(), Failure> {
    let mixed = mixed(&parts[0].params, ledger)?;
    let stand = Arc::new(Stand::enter(directory));
    let threads = (0..).zip(parts).map(|(index, part)| {
        let way = (backend, opening);
        Thread::new(way, (index, &part.params), &stand, mixed.as_ref())
    });
    let mut run = Run::<B, P> {
        threads: threads.collect::<Result<_, _>>()?,
        probe: P::default(),
    };
    let expected: Tally = parts.iter().map(|part| part.expected).sum();
    let outcome = run.measure(&expected, ledger);
    for thread in &run.threads {
        ledger.totals.checksum ^= thread.checksum();
    }
    let tally: Tally = run.threads.iter().map(|thread| *thread.tally()).sum();
    ledger.totals.counters.extend(tally.counters());
    let course = outcome?;
    run.threads
        .iter_mut()
        .try_for_each(Thread::remove_directories)?;
    for (thread, part) in run.threads.iter().zip(parts) {
        let (did, expected) = (thread.tally(), &part.expected);
        if did != expected {
            let message = format!("did {did:?}, but should have done {expected:?}");
            return Err(failure(FailureKind::Internal, message));
        }
    }
    let mut calls = CallsOfRun::new();
    for thread in &run.threads {
        calls.merge(thread.calls());
    }
    let rates = measures::samples(&tally, &course).into_iter();
    for sample in rates.chain(call::samples(&calls)) {
        ledger.sample(sample);
    }
    Ok(())
}

/// What is written in place of the text, where that is asked for.
fn mixed(params: &Params, ledger: &mut Ledger) -> Result<Option<Content>, Failure> {
    match params.content {
        Filling::Named(Fill::Text) => Ok(None),
        Filling::Shares(shares) => {
            let block = params.write_block.min(Size(params.size.largest.into()));
            Content::checked(block.bytes() as usize, shares, ledger).map(Some)
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
    fn measure(&mut self, expected: &Tally, ledger: &mut Ledger) -> Result<Course, Failure> {
        self.threads
            .iter_mut()
            .try_for_each(Thread::make_directories)?;
        let operations = [
            expected.created_alone,
            expected.transactions,
            expected.deleted_alone,
        ];
        let [create, transact, delete] = operations.map(|count| count as f64);
        let share = |done: f64| done / (create + transact + delete);

        ledger.progress(0.0, "creating files");
        let begun_s = calendar_s();
        let (creation, created_s) = self.region(Region::Creation, ledger)?;
        ledger.progress(share(create), "performing transactions");
        let (transactions, transacted_s) = self.region(Region::Transactions, ledger)?;
        ledger.progress(share(create + transact), "deleting files");
        let (deletion, deleted_s) = self.region(Region::Deletion, ledger)?;
        let calendar_s = [begun_s, created_s, transacted_s, deleted_s];
        Ok(Course {
            creation,
            transactions,
            deletion,
            calendar_s,
        })
    }

    /// One region, and the second in which it ended.
    fn region(&mut self, region: Region, ledger: &mut Ledger) -> Result<(Reading, u64), Failure> {
        match &mut self.threads[..] {
            [thread] => {
                let mut alone = Alone(&mut self.probe);
                alone.start()?;
                let outcome = region.perform(thread, &mut alone);
                let reading = self.probe.finish();
                let ended_s = calendar_s();
                // What was done until it failed is in the ledger too.
                ledger.add(&reading);
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
                ledger.add(&outcome.reading);
                Ok((outcome.reading, ended_s))
            }
        }
    }
}

#[cfg(test)]
mod tests;
