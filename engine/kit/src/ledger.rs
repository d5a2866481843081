//! The ledger: where a trial hands over what it found. It passes events on as they come and
//! keeps the sums that the last line must show.

use std::collections::BTreeMap;

use wire::{Access, Connection, Event, Interval, Network, Progress, Sample, Warning};

use crate::probe::Reading;

/// Sums over a trial.
#[derive(Debug, Default)]
pub struct Totals {
    /// Operations in timed regions.
    pub operations: u64,
    /// Bytes moved in timed regions.
    pub bytes: u64,
    /// Time in timed regions, in ns.
    pub timed_ns: u64,
    /// Checksum over the data that was read.
    pub checksum: u64,
    /// Exact counts of the workload's own kind.
    pub counters: BTreeMap<String, u64>,
    /// Where the data came from.
    pub access: Option<Access>,
    /// What both ends of the network saw.
    pub network: Option<Network>,
}

/// Takes events and sums; used between timed regions only.
pub struct Ledger<'a> {
    emit: &'a mut dyn FnMut(Event),
    /// The sums so far.
    pub totals: Totals,
}

impl<'a> Ledger<'a> {
    /// An empty ledger that passes its events to `emit`.
    pub fn new(emit: &'a mut dyn FnMut(Event)) -> Self {
        Self {
            emit,
            totals: Totals::default(),
        }
    }

    /// Says how far the work is: `done` is a share, 0 … 1.
    pub fn progress(&mut self, done: f64, what: impl Into<String>) {
        (self.emit)(Event::Progress(Progress {
            done,
            what: what.into(),
        }));
    }

    /// Adds the work of one timed region to the sums, and emits its time slices. A region is
    /// added once, however many samples are computed from it.
    pub fn add(&mut self, reading: &Reading) {
        for slice in &reading.slices {
            (self.emit)(Event::Interval(Interval {
                t_s: (self.totals.timed_ns + slice.end_ns) as f64 / 1e9,
                operations: slice.operations,
                bytes: slice.bytes,
            }));
        }
        self.totals.timed_ns += reading.elapsed_ns;
        self.totals.operations += reading.operations;
        self.totals.bytes += reading.bytes;
    }

    /// Emits one measured value.
    pub fn sample(&mut self, sample: Sample) {
        (self.emit)(Event::Sample(sample));
    }

    /// Emits how the kernel saw a connection.
    pub fn connection(&mut self, connection: Connection) {
        (self.emit)(Event::Connection(connection));
    }

    /// Emits something the reader of the result should know.
    pub fn warning(&mut self, code: &str, message: impl Into<String>, advice: Option<&str>) {
        (self.emit)(Event::Warning(Warning {
            code: code.to_owned(),
            message: message.into(),
            advice: advice.map(str::to_owned),
        }));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{PassProbe, Probe};

    #[test]
    fn intervals_of_all_regions_sum_to_the_totals_on_one_time_axis() {
        let mut events = Vec::new();
        let mut emit = |event| events.push(event);
        let mut ledger = Ledger::new(&mut emit);
        let mut probe = PassProbe::new();
        for _ in 0..3 {
            probe.start();
            probe.operation(10);
            ledger.add(&probe.finish());
        }
        let (operations, bytes) = (ledger.totals.operations, ledger.totals.bytes);
        assert_eq!((operations, bytes), (3, 30));
        let intervals: Vec<Interval> = events
            .into_iter()
            .filter_map(|event| match event {
                Event::Interval(interval) => Some(interval),
                _ => None,
            })
            .collect();
        assert_eq!(intervals.iter().map(|i| i.operations).sum::<u64>(), 3);
        assert_eq!(intervals.iter().map(|i| i.bytes).sum::<u64>(), 30);
        assert!(intervals.windows(2).all(|pair| pair[0].t_s < pair[1].t_s));
    }
}
