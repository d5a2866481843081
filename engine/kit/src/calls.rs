//! The clock beside the system calls: how long each kind takes.

use crate::clock;
use crate::histogram::Histogram;

/// The calls of one thread, of so many kinds; a workload has an enum for them. The clock is read
/// once per call: the end of one is the start of the next, as long as nothing lies between.
pub struct Calls<const KINDS: usize> {
    histograms: [Histogram; KINDS],
    last_ns: u64,
}

impl<const KINDS: usize> Default for Calls<KINDS> {
    fn default() -> Self {
        Self::new()
    }
}

impl<const KINDS: usize> Calls<KINDS> {
    /// None yet; allocates all that is ever needed.
    pub fn new() -> Self {
        Self {
            histograms: std::array::from_fn(|_| Histogram::new()),
            last_ns: 0,
        }
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.histograms.iter_mut().for_each(Histogram::clear);
    }

    /// A call begins now; gives the instant, in ns.
    #[inline]
    pub fn begin(&mut self) -> u64 {
        self.last_ns = clock::now_ns();
        self.last_ns
    }

    /// A call of that `kind` has ended, and the next one may have begun; gives the instant, in
    /// ns.
    #[inline]
    pub fn end(&mut self, kind: impl Into<usize>) -> u64 {
        let now_ns = clock::now_ns();
        self.histograms[kind.into()].record(now_ns - self.last_ns);
        self.last_ns = now_ns;
        now_ns
    }

    /// Takes in the calls of another thread.
    pub fn merge(&mut self, other: &Self) {
        for (all, more) in self.histograms.iter_mut().zip(&other.histograms) {
            all.merge(more);
        }
    }

    /// Durations of all calls of a kind.
    pub fn histogram(&self, kind: impl Into<usize>) -> &Histogram {
        &self.histograms[kind.into()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_call_lasts_from_the_end_of_the_one_before() {
        let mut calls = Calls::<2>::new();
        let began_ns = calls.begin();
        let between_ns = calls.end(0_usize);
        let ended_ns = calls.end(1_usize);
        assert_eq!(calls.histogram(0_usize).sum_ns(), between_ns - began_ns);
        assert_eq!(calls.histogram(1_usize).sum_ns(), ended_ns - between_ns);
        let mut both = Calls::new();
        both.merge(&calls);
        both.merge(&calls);
        assert_eq!(both.histogram(1_usize).count(), 2);
        calls.clear();
        assert_eq!(calls.histogram(0_usize).count(), 0);
    }
}
