//! Many transfers at once between one file and memory known beforehand: what a workload with a
//! depth needs, whichever interface of the kernel carries them out.

use std::io::{self, Write};
use std::os::fd::BorrowedFd;
use std::time::Duration;
use std::{process, thread};

/// One block on its way.
#[derive(Debug, Clone, Copy)]
pub struct Transfer {
    /// Whether it goes out to the file; otherwise it comes in from there.
    pub is_write: bool,
    /// Where it is in memory, or shall be.
    pub start: *const u8,
    /// Its size.
    pub size_bytes: u32,
    /// Where it is in the file, in bytes.
    pub offset: u64,
    /// Given back by its completion.
    pub tag: u64,
}

/// A transfer that has ended.
#[derive(Debug, Clone, Copy)]
pub struct Completion {
    /// What the transfer was tagged with.
    pub tag: u64,
    /// The number of bytes moved, or less than zero an error.
    pub result: i64,
}

impl Completion {
    /// The number of bytes that were moved.
    ///
    /// # Errors
    /// Those of read(2) and write(2).
    #[inline]
    pub fn moved(&self) -> io::Result<usize> {
        moved(self.result)
    }
}

/// The number of bytes, or the error, that the kernel puts into one number.
#[inline]
pub fn moved(result: i64) -> io::Result<usize> {
    usize::try_from(result).map_err(|_| io::Error::from_raw_os_error(-result as i32))
}

/// The pause before the kernel is asked again for what it refused for a moment.
const AGAIN: Duration = Duration::from_millis(1);

/// Reaps until nothing is in flight, whatever is refused meanwhile: before that, the kernel may
/// write to the memory of `queue`. If it refuses for good, the process aborts, because only its
/// end takes that memory from the kernel.
pub(super) fn reap_all<Q>(
    queue: &mut Q,
    in_flight: impl Fn(&Q) -> usize,
    reap: impl Fn(&mut Q) -> io::Result<()>,
) {
    while in_flight(queue) > 0 {
        match reap(queue) {
            Ok(()) => {}
            Err(error) if passes(&error) => thread::sleep(AGAIN),
            Err(error) => abandon(&error),
        }
    }
}

/// Whether the same call may succeed later.
fn passes(error: &io::Error) -> bool {
    matches!(
        error.raw_os_error(),
        Some(libc::EINTR | libc::EAGAIN | libc::EBUSY | libc::ENOMEM)
    )
}

#[cold]
fn abandon(error: &io::Error) -> ! {
    let _ = writeln!(
        io::stderr(),
        "tiltyard-engine: the kernel does not give back transfers in flight ({error}) and may \
         still write to their memory: aborted"
    );
    process::abort()
}

/// Something asked of the kernel that makes a queue faster, and whether it was granted.
pub type Grant = (&'static str, bool);

/// A queue of transfers of one file. Used by the thread that made it; dropping it waits for what
/// is in flight.
pub trait Queue: Sized {
    /// For `depth` transfers at once between `file` and two areas of memory, of which the first
    /// is read into and the second written from. Allocates all that it will ever need.
    ///
    /// # Errors
    /// Those of the system calls that make it.
    fn setup(file: BorrowedFd, areas: [&[u8]; 2], depth: u32) -> io::Result<Self>;

    /// Queues a transfer for the next [`Queue::exchange`]; no more than the depth.
    ///
    /// # Safety
    /// It lies in the area of its direction, which must stay, and its part of the first area be
    /// left alone, until its completion was taken or the queue dropped. The file stays open too.
    unsafe fn push(&mut self, transfer: Transfer);

    /// Hands over all that is queued, without waiting. Completions come with the next exchange.
    ///
    /// # Errors
    /// Those of the system calls.
    fn submit(&mut self) -> io::Result<()>;

    /// Hands over all that is queued, and waits until at least `min` that are in flight have
    /// ended.
    ///
    /// # Errors
    /// Those of the system calls; an interrupted wait ends early instead.
    fn exchange(&mut self, min: usize) -> io::Result<()>;

    /// Waits until the kernel has nothing of it any more; what was not handed over never is, and
    /// completions are lost. Aborts the process when that cannot be brought about.
    fn drain(&mut self);

    /// The next completion that the last exchange brought.
    fn completion(&mut self) -> Option<Completion>;

    /// What the host lacks when setting up has failed with `error`, and what to do about it;
    /// nothing, when it is not the host's fault.
    fn lacks(error: &io::Error) -> Option<&'static str>;

    /// What makes it faster, and whether it was granted.
    fn granted(&self) -> Vec<Grant> {
        Vec::new()
    }
}

#[cfg(any(test, feature = "refusals"))]
pub mod refusals;
#[cfg(test)]
mod tests;
