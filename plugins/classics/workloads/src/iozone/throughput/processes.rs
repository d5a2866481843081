//! A team of processes, made with fork(2), in place of threads.
//!
//! Why it is sound: everything a child needs is made before it is. From fork(2) on it runs only
//! the pass, writes its result to the shared state, and ends with _exit(2), so that nothing that
//! belongs to the parent (files to remove, output to flush) is touched twice. It allocates only
//! where a C stream is opened or a failure put into words; the C libraries keep that possible
//! after fork, and no other thread of the engine holds a lock meanwhile.

use std::io;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::sleep;
use std::time::Duration;

use kit::failure::{failure, interrupted};
use kit::slices::Slice;
use kit::team::{self, Finish, Outcome, Share};
use kit::{clock, place, stop, Reading};
use rustix::process::{
    getpid, getppid, kill_process, set_parent_process_death_signal, waitpid, Pid, Signal,
    WaitOptions, WaitStatus,
};
use wire::{Failure, FailureKind};

use super::super::pass::Part;
use super::shared_state::{ResultSlot, SharedMapping, SharedState};
use storage::io::watch::Watch;

/// The parent looks this often whether a child has ended; nothing is timed by it.
const LOOK: Duration = Duration::from_millis(5);

/// Executes `work` in a process for each element of `workers`, of which the processes have copies.
/// Its watch starts together with the others.
///
/// # Errors
/// The first failure in time of any child; the others are told to stop. `HostLacks` when
/// processes cannot be made.
pub fn execute<S>(
    workers: &mut [S],
    finish: Finish,
    work: impl Fn(&mut S, &mut WorkerProcess) -> Result<Part, Failure>,
) -> Result<Outcome<Part>, Failure> {
    let refused = |error: io::Error| {
        let message = format!("cannot make the processes of a team: {error}");
        failure(FailureKind::HostLacks, message)
    };
    let shared = SharedMapping::new().map_err(refused)?;
    let size = workers.len() as u32;
    let cpus = place::team_cpus();
    let mut children = Children::default();
    for (index, state) in workers.iter_mut().enumerate() {
        let cpu = (!cpus.is_empty()).then(|| cpus[index % cpus.len()]);
        let mut worker = WorkerProcess::new(&shared, index as u32, size, finish);
        let parent = getpid();
        let life = || {
            let result = settle_in(parent, cpu).and_then(|()| work(state, &mut worker));
            worker.leave(result);
        };
        children.0.push(Some(fork(life).map_err(refused)?));
    }
    children.reap(&shared);
    stop::check()?;
    match shared.failure() {
        Some(failure) => Err(failure),
        None => Ok(gather(&shared, size)),
    }
}

fn gather(shared: &SharedState, size: u32) -> Outcome<Part> {
    let opened_ns = shared.opened_ns();
    let shares: Vec<_> = (0..size)
        .map(|index| shared.slot(index).share(opened_ns))
        .collect();
    let elapsed_ns = || shares.iter().map(|share| share.reading.elapsed_ns);
    let sum = |part: fn(&Reading) -> u64| shares.iter().map(|share| part(&share.reading)).sum();
    let reading = reading(
        sum(|reading| reading.operations),
        sum(|reading| reading.bytes),
        elapsed_ns().max().unwrap_or(1),
    );
    Outcome {
        reading,
        first_done_ns: elapsed_ns().min().unwrap_or(1),
        shares,
    }
}

fn reading(operations: u64, bytes: u64, elapsed_ns: u64) -> Reading {
    Reading {
        operations,
        bytes,
        elapsed_ns,
        slices: vec![Slice {
            end_ns: elapsed_ns,
            operations,
            bytes,
        }],
        latency: None,
    }
}

impl ResultSlot {
    /// What the child did, on the time axis of the gate.
    fn share(&self, opened_ns: u64) -> Share<Part> {
        let read = |place: &AtomicU64| place.load(Ordering::SeqCst);
        let elapsed_ns = (read(&self.done_ns) - opened_ns).max(1);
        Share {
            reading: reading(read(&self.operations), read(&self.bytes), elapsed_ns),
            begun_ns: read(&self.begun_ns) - opened_ns,
            value: Part {
                checksum: read(&self.checksum),
                thought_ns: read(&self.thought_ns),
                tail_ns: read(&self.tail_ns),
            },
        }
    }
}

/// Makes a process that does `life` and ends.
fn fork(life: impl FnOnce()) -> io::Result<Pid> {
    // SAFETY: see the module; the child does not return from here.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        0 => {
            let lived = catch_unwind(AssertUnwindSafe(life));
            // SAFETY: ends this process at once.
            unsafe { libc::_exit(i32::from(lived.is_err())) }
        }
        pid => Pid::from_raw(pid).ok_or_else(|| io::ErrorKind::Other.into()),
    }
}

/// What a child does first: it must not outlive its parent, and runs where it should.
fn settle_in(parent: Pid, cpu: Option<u32>) -> Result<(), Failure> {
    let placed = set_parent_process_death_signal(Some(Signal::KILL))
        .map_err(io::Error::from)
        .and_then(|()| cpu.map_or(Ok(()), place::pin_to));
    placed.map_err(|error| {
        let message = format!("cannot place a process of the team: {error}");
        failure(FailureKind::HostLacks, message)
    })?;
    // The parent may have died before the kernel was asked.
    if getppid() == Some(parent) {
        Ok(())
    } else {
        Err(interrupted())
    }
}

/// Processes that have not ended yet; killed when dropped.
#[derive(Default)]
struct Children(Vec<Option<Pid>>);

impl Children {
    /// Waits until all have ended. When one fails, or a stop is asked for, the others are stopped.
    fn reap(&mut self, shared: &SharedState) {
        let mut is_told = false;
        while self.0.iter().any(Option::is_some) {
            self.reap_ended(shared);
            if !is_told && (stop::requested() || shared.failure().is_some()) {
                shared.call_off();
                self.signal(Signal::TERM);
                is_told = true;
            }
            if self.0.iter().any(Option::is_some) {
                sleep(LOOK);
            }
        }
    }

    fn reap_ended(&mut self, shared: &SharedState) {
        for (index, child) in self.0.iter_mut().enumerate() {
            let Some(pid) = *child else {
                continue;
            };
            match waitpid(Some(pid), WaitOptions::NOHANG) {
                Ok(None) => {}
                Ok(Some((_, status))) => {
                    shared.lose(index as u32, &shown(status));
                    *child = None;
                }
                Err(error) => {
                    shared.lose(index as u32, &error.to_string());
                    *child = None;
                }
            }
        }
    }

    fn signal(&self, signal: Signal) {
        for &pid in self.0.iter().flatten() {
            // One that has just ended needs no signal.
            let _ = kill_process(pid, signal);
        }
    }
}

impl Drop for Children {
    fn drop(&mut self) {
        self.signal(Signal::KILL);
        for &pid in self.0.iter().flatten() {
            // Nothing could be done about a child that cannot be waited for.
            let _ = waitpid(Some(pid), WaitOptions::empty());
        }
    }
}

fn shown(status: WaitStatus) -> String {
    match (status.exit_status(), status.terminating_signal()) {
        (Some(code), _) => format!("exit status {code}"),
        (None, Some(signal)) => format!("signal {signal}"),
        (None, None) => "unknown status".to_owned(),
    }
}

/// One process of a team, as its work sees it.
pub struct WorkerProcess<'b> {
    /// As [`team::Member::pause`].
    pub pause: Duration,
    shared: &'b SharedState,
    index: u32,
    size: u32,
    finish: Finish,
    operations: u64,
    bytes: u64,
    begun_ns: u64,
    done_ns: u64,
}

impl<'b> WorkerProcess<'b> {
    fn new(shared: &'b SharedState, index: u32, size: u32, finish: Finish) -> Self {
        Self {
            pause: Duration::ZERO,
            shared,
            index,
            size,
            finish,
            operations: 0,
            bytes: 0,
            begun_ns: 0,
            done_ns: 0,
        }
    }

    /// Writes the result to the shared state.
    fn leave(&self, result: Result<Part, Failure>) {
        let slot = self.shared.slot(self.index);
        match result {
            Ok(part) => {
                for (place, value) in [
                    (&slot.operations, self.operations),
                    (&slot.bytes, self.bytes),
                    (&slot.begun_ns, self.begun_ns),
                    (&slot.done_ns, self.done_ns),
                    (&slot.checksum, part.checksum),
                    (&slot.thought_ns, part.thought_ns),
                    (&slot.tail_ns, part.tail_ns),
                ] {
                    place.store(value, Ordering::SeqCst);
                }
                self.shared.succeed(self.index);
            }
            Err(failure) => self.shared.fail(self.index, &failure),
        }
    }
}

impl Watch for WorkerProcess<'_> {
    #[inline(always)]
    fn is_timed(&self) -> bool {
        false
    }

    fn start(&mut self) -> Result<(), Failure> {
        self.shared.pass_gate(self.size)?;
        team::hold_back(self.pause, || self.goes_on());
        self.begun_ns = clock::now_ns();
        Ok(())
    }

    #[inline]
    fn goes_on(&self) -> bool {
        !self.shared.is_walled() && !stop::requested()
    }

    #[inline]
    fn operation(&mut self, bytes: u64) {
        self.operations += 1;
        self.bytes += bytes;
    }

    #[inline]
    fn overlapped_operation(&mut self, bytes: u64, _: u64, _: u64) {
        self.operation(bytes);
    }

    fn stop(&mut self) {
        self.done_ns = clock::now_ns();
        if self.finish == Finish::Stonewall {
            self.shared.hit_wall();
        }
    }
}

#[cfg(test)]
mod tests;
