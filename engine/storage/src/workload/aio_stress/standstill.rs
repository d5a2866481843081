//! Contexts that wait for a file to become longer wait in vain when nobody is left who could
//! make it so: somebody else has cut it. Only threads that have nothing to do look at this.

use std::sync::atomic::{AtomicU64, Ordering::SeqCst};

const WORKING: u64 = 0;
const DONE: u64 = u64::MAX;

/// What the threads of a stage know of each other.
///
/// A new epoch begins when a thread stops working. If all have looked at their files within the
/// same epoch, and have found nothing to do, none has worked since, and none will.
pub struct Standstill {
    epoch: AtomicU64,
    /// For each thread: the epoch in which it last looked in vain, or what it does instead.
    looked: Vec<AtomicU64>,
}

impl Standstill {
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
        let standstill = Standstill::new(3);
        standstill.pause();
        assert!(
            !standstill.is_final(0, standstill.epoch()),
            "the others work"
        );
        standstill.pause();
        let stale = standstill.epoch();
        assert!(
            !standstill.is_final(1, stale),
            "one works, one must look again"
        );
        standstill.retire(2);
        let epoch = standstill.epoch();
        assert!(!standstill.is_final(0, epoch), "the other must look again");
        assert!(standstill.is_final(1, epoch));
        standstill.resume(0);
        assert!(!standstill.is_final(1, epoch), "one has found something");
    }
}
