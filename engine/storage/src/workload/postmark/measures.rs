//! The metrics: what is counted, over which phase, and what the original would have printed.

use kit::probe::Reading;
use serde_json::Map;
use wire::{MetricCard, Native, Role, Sample, Unit};

use super::phase_times::{Phase, PhaseTimes};
use super::tally::Tally;

/// One metric.
struct Measure {
    name: &'static str,
    label: &'static str,
    about: &'static str,
    phase: Phase,
    what: What,
}

/// What is set against the time of the phase.
enum What {
    /// The operations that the phase consists of, with their bytes and latencies.
    Phase(fn(&PhaseTimes) -> &Reading),
    /// Operations of one kind, wherever they happened; their bytes are not counted separately.
    Kind(fn(&Tally) -> u64),
    /// Bytes per second, and the operations that moved them.
    Bytes(fn(&Tally) -> u64, fn(&Tally) -> u64),
    /// The time itself, and the operations and bytes that it covers.
    Time(fn(&Tally, &PhaseTimes) -> (u64, u64)),
}

const HEADLINE: &str = "transactions";

const MEASURES: [Measure; 11] = [
    Measure {
        name: HEADLINE,
        label: "transactions",
        about: "Transactions over the time of all transactions. \
                A transaction is up to two operations on files.",
        phase: Phase::Transactions,
        what: What::Phase(|times| &times.transactions),
    },
    Measure {
        name: "created_alone",
        label: "files created, alone",
        about: "Files of the pool over the time of creating the pool.",
        phase: Phase::Creation,
        what: What::Phase(|times| &times.creation),
    },
    Measure {
        name: "deleted_alone",
        label: "files deleted, alone",
        about: "Files left in the pool over the time of deleting them.",
        phase: Phase::Deletion,
        what: What::Phase(|times| &times.deletion),
    },
    Measure {
        name: "created",
        label: "files created",
        about: "All files created over the time of the whole run.",
        phase: Phase::Whole,
        what: What::Kind(Tally::created),
    },
    Measure {
        name: "read",
        label: "files read",
        about: "Files read over the time of all transactions.",
        phase: Phase::Transactions,
        what: What::Kind(|tally| tally.read),
    },
    Measure {
        name: "appended",
        label: "files appended to",
        about: "Appends over the time of all transactions.",
        phase: Phase::Transactions,
        what: What::Kind(|tally| tally.appended),
    },
    Measure {
        name: "deleted",
        label: "files deleted",
        about: "All files deleted over the time of the whole run.",
        phase: Phase::Whole,
        what: What::Kind(Tally::deleted),
    },
    Measure {
        name: "data_read",
        label: "data read",
        about: "Bytes read over the time of the whole run.",
        phase: Phase::Whole,
        what: What::Bytes(|tally| tally.bytes_read, |tally| tally.read),
    },
    Measure {
        name: "data_written",
        label: "data written",
        about: "Bytes written over the time of the whole run.",
        phase: Phase::Whole,
        what: What::Bytes(
            |tally| tally.bytes_written,
            |tally| tally.created() + tally.appended,
        ),
    },
    Measure {
        name: "transaction_time",
        label: "time of transactions",
        about: "From before the first transaction until after the last one.",
        phase: Phase::Transactions,
        what: What::Time(|_, times| {
            let reading = &times.transactions;
            (reading.operations, reading.bytes)
        }),
    },
    Measure {
        name: "total_time",
        label: "total time",
        about: "From before the first file is created until the last one is deleted.",
        phase: Phase::Whole,
        what: What::Time(|tally, times| (times.operations(), tally.bytes())),
    },
];

/// The metrics as `describe` lists them.
pub fn cards() -> Vec<MetricCard> {
    MEASURES.iter().map(Measure::card).collect()
}

/// The values of all metrics.
pub fn samples(tally: &Tally, times: &PhaseTimes) -> Vec<Sample> {
    MEASURES
        .iter()
        .map(|measure| measure.sample(tally, times))
        .collect()
}

impl Measure {
    fn card(&self) -> MetricCard {
        let role = match self.name {
            HEADLINE => Role::Headline,
            _ => Role::Detail,
        };
        MetricCard::new(self.name, self.label, self.unit(), role, self.about)
    }

    fn sample(&self, tally: &Tally, times: &PhaseTimes) -> Sample {
        let (operations, bytes) = self.work(tally, times);
        let elapsed_s = times.elapsed_s(self.phase);
        let classic_s = times.classic_s(self.phase);
        let (value, native) = match self.unit() {
            Unit::PerSecond => (
                operations as f64 / elapsed_s,
                classic_rate(operations, classic_s),
            ),
            Unit::BytesPerSecond => (
                bytes as f64 / elapsed_s,
                classic_data_rate(bytes, classic_s),
            ),
            _ => (elapsed_s, classic_time(classic_s)),
        };
        let latency_ns = match self.what {
            What::Phase(reading) => reading(times).latency.clone(),
            What::Kind(_) | What::Bytes(..) | What::Time(_) => None,
        };
        Sample {
            operations,
            bytes,
            elapsed_s,
            native: Some(native),
            latency_ns,
            ..self.card().sample(value, Map::new())
        }
    }

    /// Operations and bytes that the value covers.
    fn work(&self, tally: &Tally, times: &PhaseTimes) -> (u64, u64) {
        match self.what {
            What::Phase(reading) => (reading(times).operations, reading(times).bytes),
            What::Kind(count) => (count(tally), 0),
            What::Bytes(bytes, count) => (count(tally), bytes(tally)),
            What::Time(work) => work(tally, times),
        }
    }

    fn unit(&self) -> Unit {
        match self.what {
            What::Phase(_) | What::Kind(_) => Unit::PerSecond,
            What::Bytes(..) => Unit::BytesPerSecond,
            What::Time(_) => Unit::Second,
        }
    }
}

const KILO: f64 = 1024.0;
const MEGA: f64 = KILO * KILO;

/// A number of operations per second, rounded down.
fn classic_rate(operations: u64, whole_s: u64) -> Native {
    Native::new((operations / whole_s) as f64, "per second")
}

/// Data per second with two decimals: in megabytes if there is more than one, else in kilobytes.
fn classic_data_rate(bytes: u64, whole_s: u64) -> Native {
    let bytes_per_s = bytes as f64 / whole_s as f64;
    if bytes_per_s > MEGA {
        Native::new(two_decimals(bytes_per_s / MEGA), "megabytes per second")
    } else if bytes_per_s > 0.0 {
        Native::new(two_decimals(bytes_per_s / KILO), "kilobytes per second")
    } else {
        Native::new(0.0, "bytes per second")
    }
}

/// A time in seconds.
fn classic_time(whole_s: u64) -> Native {
    Native::new(whole_s as f64, "seconds")
}

fn two_decimals(value: f64) -> f64 {
    (value * 100.0).round() / 100.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::postmark::phase_times::tests::phase_times;

    fn find(samples: &[Sample], metric: &str) -> Sample {
        samples
            .iter()
            .find(|sample| sample.metric == metric)
            .expect("a sample")
            .clone()
    }

    /// The report of the original for its defaults, section "Files" and "Data".
    #[test]
    fn native_figures_are_those_of_the_original_report() {
        let tally = Tally {
            transactions: 500,
            created_alone: 500,
            created_mixed: 264,
            read: 243,
            appended: 257,
            deleted_mixed: 236,
            deleted_alone: 528,
            bytes_read: 1430770,
            bytes_written: 4662068,
        };
        let mut times = phase_times([50_000_000, 40_000_000, 10_000_000], [7, 7, 7, 7]);
        times.creation.operations = 500;
        times.transactions.operations = 500;
        times.deletion.operations = 528;
        let samples = samples(&tally, &times);
        for (metric, value, figure, unit) in [
            ("transactions", 12_500.0, 500.0, "per second"),
            ("created_alone", 10_000.0, 500.0, "per second"),
            ("created", 7640.0, 764.0, "per second"),
            ("read", 6075.0, 243.0, "per second"),
            ("appended", 6425.0, 257.0, "per second"),
            ("deleted", 7640.0, 764.0, "per second"),
            ("deleted_alone", 52_800.0, 528.0, "per second"),
            ("data_read", 14_307_700.0, 1.36, "megabytes per second"),
            ("data_written", 46_620_680.0, 4.45, "megabytes per second"),
            ("transaction_time", 0.04, 1.0, "seconds"),
            ("total_time", 0.1, 1.0, "seconds"),
        ] {
            let sample = find(&samples, metric);
            let native = sample.native.expect("a native figure");
            assert!(
                (sample.value / value - 1.0).abs() < 1e-9,
                "{metric}: {}",
                sample.value
            );
            assert_eq!(
                (native.value, native.unit.as_str()),
                (figure, unit),
                "{metric}"
            );
        }
    }

    #[test]
    fn one_metric_is_the_headline() {
        let headlines: Vec<String> = cards()
            .into_iter()
            .filter(|card| card.role == Role::Headline)
            .map(|card| card.name)
            .collect();
        assert_eq!(headlines, ["transactions"]);
    }

    fn check(native: Native, value: f64, unit: &str) {
        assert_eq!((native.value, native.unit.as_str()), (value, unit));
    }

    #[test]
    fn rates_are_divided_as_integers() {
        check(classic_rate(1000, 3), 333.0, "per second");
        check(classic_rate(2, 3), 0.0, "per second");
    }

    #[test]
    fn data_are_shown_in_the_unit_of_the_original() {
        check(
            classic_data_rate(1_430_770, 1),
            1.36,
            "megabytes per second",
        );
        check(classic_data_rate(80_908, 1), 79.01, "kilobytes per second");
        check(
            classic_data_rate(1 << 20, 1),
            1024.0,
            "kilobytes per second",
        );
        check(classic_data_rate(100, 1), 0.10, "kilobytes per second");
        check(classic_data_rate(0, 1), 0.0, "bytes per second");
    }
}
