//! What all repetitions of a test came to.

use kit::histogram::Histogram;
use netperf::client::{Outcome, Side};
use wire::Latency;

use super::confidence::Widths;
use super::ends::Ends;
use super::figures::Figures;
use super::request::Request;

/// Letters of netperf's methods of measuring the use of CPUs, by number.
const METHODS: &[u8] = b"UIPTLRNKSCEMO";

/// The repetitions of a test, summed up.
pub struct Report<'r> {
    pub request: &'r Request,
    pub ends: &'r Ends,
    /// The means.
    pub figures: Figures,
    /// The last repetition, whose counts and sizes are shown.
    pub last: Outcome,
    pub repetitions: usize,
    /// Of the intervals of confidence, if they were asked for.
    pub widths: Option<Widths>,
    /// The durations of the operations of all repetitions, if they were kept.
    pub latency: Option<Latency>,
}

impl<'r> Report<'r> {
    /// Sums up a test that was repeated, the last time with `last`.
    pub fn of(
        request: &'r Request,
        ends: &'r Ends,
        repetitions: &[Figures],
        latencies: &Histogram,
        last: Outcome,
    ) -> Self {
        let goal = request.goal.as_ref();
        Self {
            request,
            ends,
            figures: Figures::mean(repetitions),
            last,
            repetitions: repetitions.len(),
            widths: goal.and_then(|goal| goal.widths(repetitions)),
            latency: latencies.to_wire(),
        }
    }

    /// The intervals, if they are wider than asked for.
    pub fn missed(&self) -> Option<&Widths> {
        let goal = self.request.goal.as_ref()?;
        self.widths.as_ref().filter(|widths| !goal.is_met(widths))
    }

    /// The letter of the method by which the use of the CPUs was measured here.
    pub fn local_method(&self) -> char {
        method(&self.last.local)
    }

    /// The same of the remote end.
    pub fn remote_method(&self) -> char {
        method(&self.last.remote)
    }
}

fn method(side: &Side) -> char {
    let number = match side.cpu {
        Some(_) => side.cpu_method.unwrap_or_default(),
        None => 0,
    };
    METHODS
        .get(number as usize)
        .map_or('?', |&letter| letter.into())
}

/// The middle of the histogram's bucket that begins at `lowest_ns`: it is 1/64 as wide.
pub fn middle_ns(lowest_ns: u64) -> u64 {
    let magnitude = lowest_ns.checked_ilog2().unwrap_or_default();
    lowest_ns + (1 << magnitude.saturating_sub(6)) / 2
}
