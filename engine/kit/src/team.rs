//! A team: threads that start one region of work together, each on a CPU of its own as far as
//! there are enough.
//!
//! ```text
//! gate opens ── member 0 ▕████████████▏ done
//!            ╲─ member 1  ▕██████████████████▏ done
//! │                                    │      │
//! 0                           first_done_ns   elapsed_ns of the team's reading
//! ```
//! The threads are made and placed, and each prepares what it needs, before the gate opens; the
//! team's reading lasts from there until the last member is done. All members count on the time
//! axis of the gate, so that their slices can be added up.

mod gate;

use std::panic::{catch_unwind, resume_unwind, AssertUnwindSafe};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use wire::{Failure, FailureKind};

use self::gate::Gate;
use crate::failure::failure;
use crate::{clock, place, stop, Probe, Reading};

/// One that is held back looks this often whether it is still to begin.
const LOOK: Duration = Duration::from_millis(50);

/// When members that still have work stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Finish {
    /// When their own work is done.
    Everyone,
    /// When the first member is done (a stonewall): from then on fewer threads would compete.
    Stonewall,
    /// When that time has passed since the gate opened, or their own work is done.
    After(Duration),
}

/// What a region gave.
#[derive(Debug)]
pub struct Outcome<T> {
    /// The work of all members, from the opening of the gate until the last was done.
    pub reading: Reading,
    /// When the first member was done, in ns since the gate opened.
    pub first_done_ns: u64,
    /// What each member did, in order of their numbers.
    pub shares: Vec<Share<T>>,
}

/// What one member did.
#[derive(Debug)]
pub struct Share<T> {
    /// Its work, from the opening of the gate until it was done.
    pub reading: Reading,
    /// When it really began, in ns since the gate opened: a thread must be woken first.
    pub begun_ns: u64,
    /// What its work returned.
    pub value: T,
}

/// Executes `work` in a thread for each element of `workers`, which it may change. `work` prepares
/// what it needs, calls [`Member::start`], and works while [`Member::goes_on`].
///
/// # Errors
/// The first failure in time of any member; the others are asked to stop. `HostLacks` when
/// threads cannot be made or placed.
pub fn execute<S, P, T, W>(
    workers: &mut [S],
    finish: Finish,
    new_probe: impl Fn() -> P,
    work: W,
) -> Result<Outcome<T>, Failure>
where
    S: Send,
    P: Probe + Send,
    T: Send,
    W: Fn(&mut S, &mut Member<P>) -> Result<T, Failure> + Sync,
{
    execute_when_ready(workers, finish, new_probe, &|| Ok(()), work)
}

/// As [`execute`]; `ready` is called once when all members have prepared, before the gate opens.
///
/// # Errors
/// As [`execute`], or that of `ready`: the gate then stays closed.
pub fn execute_when_ready<S, P, T, W>(
    workers: &mut [S],
    finish: Finish,
    new_probe: impl Fn() -> P,
    ready: &(dyn Fn() -> Result<(), Failure> + Sync),
    work: W,
) -> Result<Outcome<T>, Failure>
where
    S: Send,
    P: Probe + Send,
    T: Send,
    W: Fn(&mut S, &mut Member<P>) -> Result<T, Failure> + Sync,
{
    conduct(workers, finish, &new_probe, ready, &work)
}

/// Compiled once for what the members have and return, not for each work: a call of `work` is the
/// life of a thread.
fn conduct<S: Send, P: Probe + Send, T: Send>(
    workers: &mut [S],
    finish: Finish,
    new_probe: &dyn Fn() -> P,
    ready: &(dyn Fn() -> Result<(), Failure> + Sync),
    work: &Work<S, P, T>,
) -> Result<Outcome<T>, Failure> {
    let gate = Gate::new(workers.len(), finish, ready);
    let seats = workers.iter_mut().enumerate().map(|(index, state)| {
        let member = Member::new(index, &gate, new_probe());
        Mutex::new((Some((member, state)), None))
    });
    let seats: Vec<_> = seats.collect();
    in_threads(seats.len(), &gate, &|index| {
        // Out of its seat, onto the stack of its thread: neighbours would share cache lines.
        let (mut member, state) = lock(&seats[index]).0.take().expect("taken once");
        let value = work(state, &mut member)?;
        if member.opened_ns.is_none() {
            let missed = "a member of a team returned without having started";
            return Err(failure(FailureKind::Internal, missed));
        }
        member.done();
        lock(&seats[index]).1 = Some((member, value));
        Ok(())
    });
    match gate.failure() {
        Some(failure) => Err(failure),
        None => {
            let finished = seats.iter().filter_map(|seat| lock(seat).1.take());
            Ok(gather(finished.collect(), new_probe()))
        }
    }
}

/// What each thread does.
type Work<'a, S, P, T> = dyn Fn(&mut S, &mut Member<P>) -> Result<T, Failure> + Sync + 'a;

fn lock<T>(seat: &Mutex<T>) -> MutexGuard<'_, T> {
    seat.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Calls `attend` in a thread for each of so many `members`, on a CPU of its own as far as there
/// are enough, and waits for all. It is compiled once, whatever the teams do.
fn in_threads(members: usize, gate: &Gate, attend: &Attend) {
    let cpus = place::team_cpus();
    let joined = thread::scope(|scope| {
        let mut threads = Vec::with_capacity(members);
        for index in 0..members {
            let cpu = (!cpus.is_empty()).then(|| cpus[index % cpus.len()]);
            let spawned = thread::Builder::new()
                .name(format!("member-{index}"))
                .spawn_scoped(scope, move || attend_placed(gate, cpu, index, attend));
            match spawned {
                Ok(thread) => threads.push(thread),
                Err(error) => gate.fail(host_lacks("make", index, &error)),
            }
        }
        if let Finish::After(time) = gate.finish() {
            scope.spawn(move || gate.close_after(time));
        }
        let joined = threads.into_iter().map(|thread| thread.join());
        joined.fold(Ok(()), Result::and)
    });
    joined.unwrap_or_else(|panic| resume_unwind(panic));
}

/// The life of the member of that number; the gate knows when it failed.
type Attend<'a> = dyn Fn(usize) -> Result<(), Failure> + Sync + 'a;

fn attend_placed(gate: &Gate, cpu: Option<u32>, index: usize, attend: &Attend) {
    let result = match cpu.map_or(Ok(()), place::pin_to) {
        Ok(()) => catch_unwind(AssertUnwindSafe(|| attend(index)))
            .unwrap_or_else(|panic| gate.abandon(panic)),
        Err(error) => Err(host_lacks("place", index, &error)),
    };
    if let Err(failure) = result {
        gate.fail(failure);
    }
}

/// A member that has done its part, and what its work returned.
type Finished<'g, P, T> = (Member<'g, P>, T);

fn gather<P: Probe, T>(finished: Vec<Finished<P, T>>, mut all: P) -> Outcome<T> {
    let opened_ns = finished.iter().find_map(|(member, _)| member.opened_ns);
    let opened_ns = opened_ns.unwrap_or_else(clock::now_ns);
    let dones_ns = || finished.iter().filter_map(|(member, _)| member.done_ns);
    let first_done_ns = dones_ns().min().unwrap_or(opened_ns) - opened_ns;
    let last_done_ns = dones_ns().max().unwrap_or(opened_ns);
    all.start_at(opened_ns);
    for (member, _) in &finished {
        all.merge(&member.probe);
    }
    let shares = finished.into_iter().map(|(mut member, value)| Share {
        reading: member.probe.finish_at(member.done_ns.unwrap_or(opened_ns)),
        begun_ns: member.begun_ns - opened_ns,
        value,
    });
    Outcome {
        first_done_ns,
        shares: shares.collect(),
        reading: all.finish_at(last_done_ns),
    }
}

/// One thread of a team, as its work sees it.
pub struct Member<'g, P> {
    /// Its number, from 0.
    pub index: usize,
    /// What it records into; started by [`Member::start`].
    pub probe: P,
    /// How long it is held back when the gate has opened: not at all, unless its work says so
    /// before [`Member::start`].
    pub pause: Duration,
    gate: &'g Gate<'g>,
    opened_ns: Option<u64>,
    begun_ns: u64,
    done_ns: Option<u64>,
}

impl<'g, P: Probe> Member<'g, P> {
    fn new(index: usize, gate: &'g Gate<'g>, probe: P) -> Self {
        Self {
            index,
            probe,
            pause: Duration::ZERO,
            gate,
            opened_ns: None,
            begun_ns: 0,
            done_ns: None,
        }
    }

    /// Waits until all members are here, and starts the probe.
    ///
    /// # Errors
    /// The failure of a member that will never be here.
    pub fn start(&mut self) -> Result<(), Failure> {
        let opened_ns = self.gate.pass()?;
        self.opened_ns = Some(opened_ns);
        self.probe.start_at(opened_ns);
        if !self.pause.is_zero() {
            hold_back(self.pause, || self.goes_on());
            self.probe.begin_operation();
        }
        self.begun_ns = clock::now_ns();
        Ok(())
    }

    /// The first instant, by the clock: when the gate opened; now, as long as it has not.
    pub fn opened_ns(&self) -> u64 {
        self.opened_ns.unwrap_or_else(clock::now_ns)
    }

    /// Time since the gate opened, in ns: for instants inside the region.
    pub fn elapsed_ns(&self) -> u64 {
        self.opened_ns
            .map_or(0, |opened_ns| clock::now_ns() - opened_ns)
    }

    /// Whether to go on: nobody has failed, no stonewall has been hit, and no stop was asked
    /// for. Two relaxed loads: cheap enough for every operation.
    #[inline]
    pub fn goes_on(&self) -> bool {
        !self.gate.is_closed() && !stop::requested()
    }

    /// Takes the second instant. Where the work does not call this, it is taken when the work
    /// returns.
    pub fn done(&mut self) {
        if self.done_ns.is_none() {
            self.done_ns = Some(clock::now_ns());
            self.gate.leave();
        }
    }
}

/// Sleeps for `pause`, or until `goes_on` says no longer.
pub fn hold_back(pause: Duration, goes_on: impl Fn() -> bool) {
    let end = Instant::now() + pause;
    while goes_on() {
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return;
        }
        thread::sleep(left.min(LOOK));
    }
}

fn host_lacks(action: &str, index: usize, error: &std::io::Error) -> Failure {
    let message = format!("cannot {action} thread {index} of the team: {error}");
    failure(FailureKind::HostLacks, message)
}

#[cfg(test)]
mod tests;
