//! What was measured: the three timed phases, on two clocks.
//!
//! The monotonic clock measures; whole seconds of the calendar, as time(2) gives them, are what
//! the original computed its figures from.

use std::time::{SystemTime, UNIX_EPOCH};

use kit::probe::Reading;

/// What a rate is a rate of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// Creating the pool.
    Creation,
    /// All transactions.
    Transactions,
    /// Deleting what is left of the pool.
    Deletion,
    /// The three together. What happens between them (sums, messages) is not part of it.
    Whole,
}

/// The phases as measured.
#[derive(Debug, Clone)]
pub struct PhaseTimes {
    pub creation: Reading,
    pub transactions: Reading,
    pub deletion: Reading,
    /// Whole seconds since 1970 before the first phase and after each one.
    pub calendar_s: [u64; 4],
}

impl PhaseTimes {
    /// Length of a phase by the monotonic clock, in seconds.
    pub fn elapsed_s(&self, phase: Phase) -> f64 {
        match phase {
            Phase::Creation => self.creation.elapsed_s(),
            Phase::Transactions => self.transactions.elapsed_s(),
            Phase::Deletion => self.deletion.elapsed_s(),
            Phase::Whole => [Phase::Creation, Phase::Transactions, Phase::Deletion]
                .into_iter()
                .map(|phase| self.elapsed_s(phase))
                .sum(),
        }
    }

    /// Operations of all phases.
    pub fn operations(&self) -> u64 {
        self.creation.operations + self.transactions.operations + self.deletion.operations
    }

    /// Length of a phase as the original sees it: whole seconds, and never less than one.
    pub fn classic_s(&self, phase: Phase) -> u64 {
        let [begun, created, transacted, deleted] = self.calendar_s;
        let (from, to) = match phase {
            Phase::Creation => (begun, created),
            Phase::Transactions => (created, transacted),
            Phase::Deletion => (transacted, deleted),
            Phase::Whole => (begun, deleted),
        };
        to.saturating_sub(from).max(1)
    }
}

/// Whole seconds since 1970.
pub fn calendar_s() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| since.as_secs())
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Phases that lasted so long, and did nothing.
    pub fn phase_times(elapsed_ns: [u64; 3], calendar_s: [u64; 4]) -> PhaseTimes {
        let [creation, transactions, deletion] = elapsed_ns.map(|elapsed_ns| Reading {
            operations: 0,
            bytes: 0,
            elapsed_ns,
            slices: Vec::new(),
            latency: None,
        });
        PhaseTimes {
            creation,
            transactions,
            deletion,
            calendar_s,
        }
    }

    #[test]
    fn phases_are_measured_in_ns_and_counted_in_whole_seconds() {
        let times = phase_times(
            [500_000_000, 1_500_000_000, 100_000_000],
            [100, 100, 102, 102],
        );
        assert_eq!(times.elapsed_s(Phase::Creation), 0.5);
        assert_eq!(times.elapsed_s(Phase::Transactions), 1.5);
        assert_eq!(times.elapsed_s(Phase::Whole), 2.1);
        assert_eq!(
            times.classic_s(Phase::Creation),
            1,
            "the same second counts as one"
        );
        assert_eq!(times.classic_s(Phase::Transactions), 2);
        assert_eq!(times.classic_s(Phase::Deletion), 1);
        assert_eq!(times.classic_s(Phase::Whole), 2);
    }

    #[test]
    fn a_calendar_set_back_counts_as_one_second() {
        assert_eq!(
            phase_times([1, 1, 1], [100, 99, 98, 97]).classic_s(Phase::Whole),
            1
        );
    }
}
