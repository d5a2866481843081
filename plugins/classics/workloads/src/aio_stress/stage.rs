//! A stage: what is done, to which files.

use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};

use kit::histogram::Histogram;
use kit::team::Finish;

use super::fill::Pattern;
use super::offsets::Range;
use storage::workload::region::{BoundaryCalls, Phase};

/// What all threads do in a stage, and how.
pub struct Stage<'a> {
    /// Which one.
    pub phase: Phase,
    /// Requests built for one file before the next one's turn.
    pub batch: usize,
    /// Requests handed over at once, at most.
    pub submit_max: usize,
    /// When threads that still have requests to begin stop.
    pub finish: Finish,
    /// Whether files are synced at the end.
    pub fsync: bool,
    /// Whether records read are compared with `pattern`.
    pub verify: bool,
    /// What is written, and expected back.
    pub pattern: &'a Pattern,
    /// Whether anybody is left who could make a file longer.
    pub stall: StallDetector,
}

/// One context of one file.
pub struct Oper<'a> {
    /// Name of the file, for failures.
    pub path: &'a Path,
    /// Number of the file.
    pub number: u32,
    /// Open for reading and writing.
    pub file: OwnedFd,
    /// What of it is worked on.
    pub range: Range,
    /// Requests begun in this stage.
    pub started: u64,
}

impl<'a> Oper<'a> {
    /// With nothing begun.
    pub fn new(path: &'a Path, number: u32, file: OwnedFd, range: Range) -> Self {
        Self {
            path,
            number,
            file,
            range,
            started: 0,
        }
    }

    /// Requests yet to be begun.
    pub fn left(&self) -> u64 {
        self.range.records() - self.started
    }
}

/// What a thread did in a stage, beside what its probe counted.
pub struct Part {
    /// When the last completion had been reaped, in ns since the gate opened; fsync follows.
    pub drained_ns: u64,
    /// Checksum over what was verified.
    pub checksum: u64,
    /// How long calls of io_submit took.
    pub submits: Histogram,
    /// Calls of fsync.
    pub calls: BoundaryCalls,
}

const WORKING: u64 = 0;
const DONE: u64 = u64::MAX;

/// Contexts that wait for a file to become longer wait in vain when nobody is left who could make
/// it so: somebody else has cut it. Only threads that have nothing to do look at this.
///
/// A new epoch begins when a thread stops working. If all have looked at their files within the
/// same epoch, and have found nothing to do, none has worked since, and none will.
pub struct StallDetector {
    epoch: AtomicU64,
    /// For each thread: the epoch in which it last looked in vain, or what it does instead.
    looked: Vec<AtomicU64>,
}

impl StallDetector {
    /// All of them work.
    pub fn new(threads: usize) -> Self {
        Self {
            epoch: AtomicU64::new(WORKING + 1),
            looked: (0..threads).map(|_| AtomicU64::new(WORKING)).collect(),
        }
    }

    /// The thread has found something to do again.
    pub fn resume(&self, thread: usize) {
        self.looked[thread].store(WORKING, SeqCst);
    }

    /// The thread has nothing to do for now.
    pub fn pause(&self) {
        self.epoch.fetch_add(1, SeqCst);
    }

    /// The thread will do nothing more.
    pub fn retire(&self, thread: usize) {
        self.epoch.fetch_add(1, SeqCst);
        self.looked[thread].store(DONE, SeqCst);
    }

    /// The epoch, to be read before the files are looked at.
    pub fn epoch(&self) -> u64 {
        self.epoch.load(SeqCst)
    }

    /// The thread has looked in `epoch` and found nothing to do; whether that will stay so.
    pub fn is_final(&self, thread: usize, epoch: u64) -> bool {
        self.looked[thread].store(epoch, SeqCst);
        let all = |looked: &AtomicU64| [epoch, DONE].contains(&looked.load(SeqCst));
        self.looked.iter().all(all) && self.epoch() == epoch
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_final_when_all_have_looked_since_the_last_one_worked() {
        let stall = StallDetector::new(3);
        stall.pause();
        assert!(!stall.is_final(0, stall.epoch()), "the others work");
        stall.pause();
        let stale = stall.epoch();
        assert!(!stall.is_final(1, stale), "one works, one must look again");
        stall.retire(2);
        let epoch = stall.epoch();
        assert!(!stall.is_final(0, epoch), "the other must look again");
        assert!(stall.is_final(1, epoch));
        stall.resume(0);
        assert!(!stall.is_final(1, epoch), "one has found something");
    }
}
