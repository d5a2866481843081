//! The event sink: where a trial hands over what it found. It passes events on as they come and
//! keeps the sums that the last line must show.

use std::collections::BTreeMap;

use wire::{
    Access, Connection, Event, Interval, Network, Programs, Progress, Region, Sample, Side, Warning,
};

use crate::barrier;
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
    /// What both ends of the network saw, over all timed regions.
    pub network: Option<Network>,
    /// How programs were started and held.
    pub programs: Option<Programs>,
}

/// Takes events and sums; used between timed regions only.
pub struct EventSink<'a> {
    emit: &'a mut dyn FnMut(Event),
    /// The sums so far.
    pub totals: Totals,
}

impl<'a> EventSink<'a> {
    /// An empty event_sink that passes its events to `emit`.
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
    /// added once, before the samples that are computed from it.
    pub fn add(&mut self, reading: &Reading) {
        if let Some(began_ns) = barrier::began_ns() {
            (self.emit)(Event::Region(Region {
                began_ns,
                elapsed_s: reading.elapsed_s(),
                operations: reading.operations,
                bytes: reading.bytes,
            }));
        }
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

    /// Emits an event of the workload's own kind.
    pub fn event(&mut self, event: Event) {
        (self.emit)(event);
    }

    /// Emits one measured value.
    pub fn sample(&mut self, sample: Sample) {
        (self.emit)(Event::Sample(sample));
    }

    /// Adds one timed region between two ends: its reading as [`EventSink::add`] does, what both ends
    /// saw, and how the kernel saw the connections, on the time axis of the intervals.
    pub fn add_network(
        &mut self,
        reading: &Reading,
        network: Network,
        connections: impl IntoIterator<Item = Connection>,
    ) {
        let before_s = self.totals.timed_ns as f64 / 1e9;
        for mut connection in connections {
            connection.t_s += before_s;
            (self.emit)(Event::Connection(connection));
        }
        let shares_s = [before_s, reading.elapsed_ns as f64 / 1e9];
        self.totals.network = Some(match self.totals.network.take() {
            None => network,
            Some(before) => Network {
                near: both(before.near, network.near, shares_s),
                far: both(before.far, network.far, shares_s),
            },
        });
        self.add(reading);
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

/// One end over two regions that lasted `shares_s`; what was granted is that of the later one.
fn both(before: Side, mut later: Side, shares_s: [f64; 2]) -> Side {
    let [before_s, later_s] = shares_s;
    let all_s = before_s + later_s;
    if all_s > 0.0 {
        later.busy = (before.busy * before_s + later.busy * later_s) / all_s;
    }
    later.user_s += before.user_s;
    later.system_s += before.system_s;
    later.sent_bytes += before.sent_bytes;
    later.received_bytes += before.received_bytes;
    later.sends += before.sends;
    later.receives += before.receives;
    for (name, count) in before.counters {
        *later.counters.entry(name).or_default() += count;
    }
    later
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{PassProbe, Probe};

    fn side(busy: f64, count: u64) -> Side {
        Side {
            host: "a".to_owned(),
            cpus: 2,
            busy,
            user_s: 0.5,
            system_s: 0.25,
            sent_bytes: count,
            received_bytes: 10 * count,
            sends: 2 * count,
            receives: 3 * count,
            granted: [("mss".to_owned(), count.into())].into_iter().collect(),
            counters: [("TcpInSegs".to_owned(), count)].into(),
        }
    }

    fn connection(t_s: f64) -> Connection {
        let text = format!(
            r#"{{"t_s":{t_s},"flow":0,"end":"near","rtt_s":0.1,"rtt_variance_s":0.1,
                "cwnd_segments":10,"mss_bytes":1448,"retransmits":0}}"#
        );
        serde_json::from_str(&text).unwrap()
    }

    #[test]
    fn both_ends_are_summed_over_all_regions_on_one_time_axis() {
        let mut times_s = Vec::new();
        let mut emit = |event| {
            if let Event::Connection(connection) = event {
                times_s.push(connection.t_s);
            }
        };
        let mut event_sink = EventSink::new(&mut emit);
        for (elapsed_ns, busy, count) in [(1_000_000_000, 0.2, 1), (3_000_000_000, 0.6, 5)] {
            let mut reading = PassProbe::new().finish_at(0);
            (reading.elapsed_ns, reading.slices) = (elapsed_ns, Vec::new());
            let network = Network {
                near: side(busy, count),
                far: side(0.0, 0),
            };
            event_sink.add_network(&reading, network, [connection(0.5)]);
        }
        let near = event_sink.totals.network.unwrap().near;
        let sum = Side {
            user_s: 1.0,
            system_s: 0.5,
            granted: side(0.0, 5).granted,
            ..side((0.2 + 3.0 * 0.6) / 4.0, 6)
        };
        assert_eq!(near, sum);
        assert_eq!(times_s, [0.5, 1.5]);
    }

    #[test]
    fn intervals_of_all_regions_sum_to_the_totals_on_one_time_axis() {
        let mut events = Vec::new();
        let mut emit = |event| events.push(event);
        let mut event_sink = EventSink::new(&mut emit);
        let mut probe = PassProbe::new();
        for _ in 0..3 {
            probe.start();
            probe.operation(10);
            event_sink.add(&probe.finish());
        }
        let (operations, bytes) = (event_sink.totals.operations, event_sink.totals.bytes);
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
