//! The metrics of a loop: the rate is what is quoted, the times of the calls explain it.

use kit::histogram::Histogram;
use kit::team::Outcome;
use kit::trial::point;
use kit::Reading;
use serde_json::{json, Map, Value};
use wire::{MetricCard, Native, Role, Sample, Unit};

use super::call::{spent_ns, Call, CallsOfLoop};

/// What is measured of each loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum What {
    Files,
    Overhead,
    Time(Call),
    Removed,
}

/// One loop, done.
pub struct Loop<'a> {
    /// Its number, from 1.
    pub number: u32,
    /// Creating, with all that syncs.
    pub creation: &'a Outcome<()>,
    /// Removing, where that was done.
    pub removal: Option<&'a Reading>,
    /// The calls of each thread.
    pub calls: Vec<&'a CallsOfLoop>,
}

/// The metrics as `describe` lists them.
pub fn cards() -> Vec<MetricCard> {
    What::all().map(What::card).collect()
}

/// The values of all metrics that the loop has.
pub fn samples(of: &Loop) -> Vec<Sample> {
    What::all().filter_map(|what| what.sample(of)).collect()
}

/// The original's rate: the sum of what each process divided by its own time. It is higher than
/// that of all together when they do not begin and end at once.
pub fn classic_rate(creation: &Outcome<()>) -> f64 {
    let shares = creation.shares.iter();
    let rates = shares.map(|share| {
        let own_us = ((share.reading.elapsed_ns - share.begun_ns) / 1_000).max(1);
        let rate = share.reading.operations as f64 / (own_us as f64 / 1e6);
        one_decimal(rate)
    });
    one_decimal(rates.sum())
}

impl Loop<'_> {
    fn files(&self) -> u64 {
        self.creation.reading.operations
    }

    /// All threads' calls of a kind.
    fn merged(&self, call: Call) -> Histogram {
        let mut all = Histogram::new();
        for calls in &self.calls {
            all.merge(calls.histogram(call));
        }
        all
    }

    /// Time of all threads in which they were in no system call that is counted.
    fn overhead_ns(&self) -> u64 {
        let threads = self.creation.shares.iter().zip(&self.calls);
        let each = threads.map(|(share, calls)| {
            (share.reading.elapsed_ns - share.begun_ns).saturating_sub(spent_ns(calls))
        });
        each.sum()
    }

    /// The original's average, in whole µs: of each process first, then of all. Syncing is
    /// divided by the number of files, however often it was done.
    fn classic_mean_us(&self, call: Call) -> u64 {
        let files = self.files() / self.calls.len() as u64;
        let of_thread = |calls: &&CallsOfLoop| {
            let all = calls.histogram(call);
            let divisor = match call {
                Call::Write | Call::Sync => all.count(),
                Call::Create | Call::Fsync | Call::Close | Call::Unlink => files,
            };
            all.sum_ns() / 1_000 / divisor.max(1)
        };
        self.calls.iter().map(of_thread).sum::<u64>() / self.calls.len() as u64
    }

    fn point(&self) -> Map<String, Value> {
        point([("loop", json!(self.number))])
    }
}

impl What {
    fn all() -> impl Iterator<Item = What> {
        let times = Call::ALL.into_iter().map(What::Time);
        let rates = [What::Files, What::Overhead].into_iter();
        rates.chain(times).chain([What::Removed])
    }

    fn card(self) -> MetricCard {
        let [name, label, about] = self.words();
        let role = match self {
            What::Files => Role::Headline,
            _ => Role::Detail,
        };
        MetricCard::new(name, label, self.unit(), role, about)
    }

    /// Name, label and explanation.
    fn words(self) -> [&'static str; 3] {
        match self {
            What::Files => [
                "files",
                "files created",
                "Files of all threads over the time from the start of the first until the last \
                 is done; writing, syncing and closing them is included, removing them is not.",
            ],
            What::Overhead => [
                "overhead",
                "time outside of system calls",
                "Time that the threads spent making names and looking at the clock, added up over \
                 threads; with `classic` also making directories.",
            ],
            What::Time(Call::Create) => ["create", "create", "Mean time to create a file."],
            What::Time(Call::Write) => ["write", "write", "Mean time of one write."],
            What::Time(Call::Fsync) => [
                "fsync",
                "fsync",
                "Mean time to sync a file; opening and closing it again is included when that is \
                 done after the loop.",
            ],
            What::Time(Call::Sync) => [
                "sync",
                "sync of the file system",
                "Time of syncing the whole file system, mean over threads.",
            ],
            What::Time(Call::Close) => {
                ["close", "close", "Mean time to close a file just written."]
            }
            What::Time(Call::Unlink) => ["unlink", "unlink", "Mean time to remove a file."],
            What::Removed => [
                "removed",
                "files removed",
                "Files of all threads over the time of removing them, where they are not kept.",
            ],
        }
    }

    fn unit(self) -> Unit {
        match self {
            What::Files | What::Removed => Unit::PerSecond,
            What::Overhead | What::Time(_) => Unit::Second,
        }
    }

    /// `None` where the loop did nothing of the kind.
    fn sample(self, of: &Loop) -> Option<Sample> {
        let mut sample = self.card().sample(0.0, of.point());
        match self {
            What::Files => {
                let reading = &of.creation.reading;
                rate(&mut sample, reading);
                sample.native = native(classic_rate(of.creation), "Files/sec");
            }
            What::Removed => rate(&mut sample, of.removal?),
            What::Overhead => {
                let overhead_ns = of.overhead_ns();
                sample.value = overhead_ns as f64 / 1e9;
                sample.operations = of.files();
                sample.elapsed_s = sample.value;
                sample.native = native((overhead_ns / 1_000) as f64, "microseconds");
            }
            What::Time(call) => {
                sample = of.merged(call).sample(self.card(), of.point())?;
                if call == Call::Write {
                    sample.bytes = of.creation.reading.bytes;
                }
                sample.native = native(of.classic_mean_us(call) as f64, "microseconds");
            }
        }
        Some(sample)
    }
}

fn rate(sample: &mut Sample, reading: &Reading) {
    sample.value = reading.operations_per_s();
    sample.operations = reading.operations;
    sample.bytes = reading.bytes;
    sample.elapsed_s = reading.elapsed_s();
    sample.latency_ns = reading.latency.clone();
}

fn native(value: f64, unit: &str) -> Option<Native> {
    Some(Native::new(value, unit))
}

fn one_decimal(value: f64) -> f64 {
    (value * 10.0).round() / 10.0
}

#[cfg(test)]
mod tests {
    use kit::team::Share;

    use super::*;

    fn reading(operations: u64, elapsed_ns: u64) -> Reading {
        Reading {
            operations,
            bytes: 0,
            elapsed_ns,
            slices: Vec::new(),
            latency: None,
        }
    }

    fn share(begun_ns: u64, elapsed_ns: u64) -> Share<()> {
        Share {
            reading: reading(100, elapsed_ns),
            begun_ns,
            value: (),
        }
    }

    /// Two threads, one after the other: each is as fast as one alone, both together are not.
    #[test]
    fn the_classic_rate_is_the_sum_of_the_threads_own() {
        let creation = Outcome {
            reading: reading(200, 2_000_000_000),
            first_done_ns: 1_000_000_000,
            shares: vec![share(0, 1_000_000_000), share(1_000_000_000, 2_000_000_000)],
        };
        let calls = [CallsOfLoop::new(), CallsOfLoop::new()];
        let done = Loop {
            number: 3,
            creation: &creation,
            removal: None,
            calls: calls.iter().collect(),
        };
        let samples = samples(&done);
        let names: Vec<_> = samples
            .iter()
            .map(|sample| sample.metric.as_str())
            .collect();
        assert_eq!(names, ["files", "overhead"], "no call was made");
        assert_eq!(samples[0].value, 100.0);
        assert_eq!(samples[0].native.as_ref().unwrap().value, 200.0);
        assert_eq!(samples[1].value, 2.0, "all their time was outside of calls");
        assert_eq!(samples[0].at["loop"], 3);
    }

    #[test]
    fn one_metric_is_the_headline() {
        let headlines = cards()
            .into_iter()
            .filter(|card| card.role == Role::Headline);
        assert_eq!(
            headlines.map(|card| card.name).collect::<Vec<_>>(),
            ["files"]
        );
    }
}
