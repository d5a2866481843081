//! The gate between preparation and work.

use std::any::Any;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use wire::{Failure, FailureKind};

use super::Finish;
use crate::failure::failure;
use crate::{barrier, clock};

/// Where the members wait for each other, and learn when to stop.
pub(super) struct Gate<'r> {
    members: usize,
    finish: Finish,
    ready: &'r Ready<'r>,
    waiting: Mutex<Waiting>,
    changed: Condvar,
    /// Whether members that still have work shall stop.
    closed: AtomicBool,
}

/// What is done when all members are here, before the gate opens.
pub(super) type Ready<'r> = dyn Fn() -> Result<(), Failure> + Sync + 'r;

#[derive(Default)]
struct Waiting {
    arrived: usize,
    opened_ns: Option<u64>,
    left: usize,
    failure: Option<Failure>,
}

impl<'r> Gate<'r> {
    /// For so many members.
    pub fn new(members: usize, finish: Finish, ready: &'r Ready<'r>) -> Self {
        Self {
            members,
            finish,
            ready,
            waiting: Mutex::default(),
            changed: Condvar::new(),
            closed: AtomicBool::new(false),
        }
    }

    /// When members that still have work stop.
    pub fn finish(&self) -> Finish {
        self.finish
    }

    /// Waits until all are here; gives the instant of the last arrival.
    pub fn pass(&self) -> Result<u64, Failure> {
        let mut waiting = self.lock();
        waiting.arrived += 1;
        if waiting.arrived == self.members && waiting.failure.is_none() {
            match (self.ready)() {
                Ok(()) => waiting.opened_ns = Some(barrier::begin_ns()),
                Err(failure) => waiting.failure = Some(failure),
            }
            self.changed.notify_all();
        }
        let undecided =
            |waiting: &mut Waiting| waiting.opened_ns.is_none() && waiting.failure.is_none();
        let waiting = self.changed.wait_while(waiting, undecided);
        let waiting = waiting.unwrap_or_else(PoisonError::into_inner);
        match (waiting.opened_ns, &waiting.failure) {
            (Some(opened_ns), _) => Ok(opened_ns),
            (None, failure) => Err(failure.clone().expect("waiting ended for a reason")),
        }
    }

    /// Whether members that still have work shall stop.
    #[inline]
    pub fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Relaxed)
    }

    /// A member has done its part.
    pub fn leave(&self) {
        if self.finish == Finish::Stonewall {
            self.closed.store(true, Ordering::Relaxed);
        }
        let mut waiting = self.lock();
        waiting.left += 1;
        if waiting.left == self.members {
            self.changed.notify_all();
        }
    }

    /// Closes the gate when `time` has passed since it opened; returns then, or when all members
    /// have left or one has failed.
    pub fn close_after(&self, time: Duration) {
        let mut waiting = self.lock();
        while waiting.left < self.members && waiting.failure.is_none() {
            let woken = match waiting.opened_ns {
                None => self.changed.wait(waiting),
                Some(opened_ns) => {
                    let passed = Duration::from_nanos(clock::now_ns() - opened_ns);
                    let left = time.saturating_sub(passed);
                    if left.is_zero() {
                        return self.closed.store(true, Ordering::Relaxed);
                    }
                    let woken = self.changed.wait_timeout(waiting, left);
                    woken
                        .map(|(waiting, _)| waiting)
                        .map_err(|poisoned| PoisonError::new(poisoned.into_inner().0))
                }
            };
            waiting = woken.unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Tells all members to stop, and those that wait that the gate will never open.
    pub fn fail(&self, failure: Failure) {
        self.closed.store(true, Ordering::Relaxed);
        self.lock().failure.get_or_insert(failure);
        self.changed.notify_all();
    }

    /// A defect in one member must not leave the others waiting.
    pub fn abandon(&self, panic: Box<dyn Any + Send>) -> ! {
        let message = "a member of a team has a defect";
        self.fail(failure(FailureKind::Internal, message));
        resume_unwind(panic)
    }

    /// The first failure in time.
    pub fn failure(&self) -> Option<Failure> {
        self.lock().failure.take()
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
