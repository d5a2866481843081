//! The figures of a phase: what the children see and what their parent sees, as values and in
//! the original's own unit.

use std::collections::BTreeMap;

use kit::team::{Outcome, Share};
use wire::{MetricCard, Native, Role, Sample, Unit};

use super::super::options::NativeUnit;
use super::super::pass::Part;
use super::params::Point;
use super::phase::Phase;

const NS_PER_S: f64 = 1e9;

/// What is measured of each phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum What {
    Children,
    Parent,
    Least,
    Most,
    Mean,
}

/// Work and the time it took.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Rate {
    operations: u64,
    bytes: u64,
    elapsed_ns: u64,
}

impl Rate {
    /// That of one child, from when it began.
    fn of_child(share: &Share<Part>) -> Self {
        let reading = &share.reading;
        let not_its_own_ns = share.begun_ns + share.value.thought_ns;
        Self {
            operations: reading.operations,
            bytes: reading.bytes,
            elapsed_ns: reading.elapsed_ns.saturating_sub(not_its_own_ns).max(1),
        }
    }

    fn bytes_per_s(self) -> f64 {
        self.bytes as f64 * NS_PER_S / self.elapsed_ns as f64
    }

    fn operations_per_s(self) -> f64 {
        self.operations as f64 * NS_PER_S / self.elapsed_ns as f64
    }
}

/// The rates of a phase.
pub struct Figures {
    children: Vec<Rate>,
    /// Until the last child was done or stopped.
    together: Rate,
    /// Until the last child had ended.
    parent: Rate,
}

impl Figures {
    /// From what the children did.
    pub fn new(outcome: &Outcome<Part>) -> Self {
        let shares = || outcome.shares.iter();
        let together = Rate {
            operations: outcome.reading.operations,
            bytes: outcome.reading.bytes,
            elapsed_ns: outcome.reading.elapsed_ns,
        };
        let ended_ns = shares().map(|share| share.reading.elapsed_ns + share.value.tail_ns);
        Self {
            children: shares().map(Rate::of_child).collect(),
            together,
            parent: Rate {
                elapsed_ns: ended_ns.max().unwrap_or(1),
                ..together
            },
        }
    }

    /// Children that had not moved a record when the first was done.
    pub fn idle(&self) -> usize {
        self.children
            .iter()
            .filter(|child| child.operations == 0)
            .count()
    }

    /// The values of all metrics. Rates of 0 are no measurements, and left out.
    pub fn samples(&self, phase: Phase, point: Point, native: NativeUnit) -> Vec<Sample> {
        What::ALL
            .into_iter()
            .map(|what| self.sample(what, phase, point, native))
            .filter(|sample| sample.value > 0.0)
            .collect()
    }

    /// Adds what has no rate: the bytes of the child that moved least, and, if asked for, bytes
    /// and time of each.
    pub fn count(
        &self,
        phase: Phase,
        point: Point,
        of_each: bool,
        counters: &mut BTreeMap<String, u64>,
    ) {
        let (cell, children) = (point.cell, point.children);
        let prefix = format!(
            "{}.{}.{}.{children}",
            phase.metric(),
            cell.file,
            cell.record
        );
        let least = self.children.iter().map(|child| child.bytes).min();
        counters.insert(format!("{prefix}.least_bytes"), least.unwrap_or(0));
        if of_each {
            for (index, child) in self.children.iter().enumerate() {
                let prefix = format!("{prefix}.child_{index}");
                counters.insert(format!("{prefix}_bytes"), child.bytes);
                counters.insert(format!("{prefix}_elapsed_ns"), child.elapsed_ns);
            }
        }
    }

    fn sample(&self, what: What, phase: Phase, point: Point, native: NativeUnit) -> Sample {
        let covered = self.covered(what);
        let figure = |of: fn(Rate) -> f64| match what {
            What::Children => self.children.iter().map(|&child| of(child)).sum(),
            What::Mean => {
                let sum: f64 = self.children.iter().map(|&child| of(child)).sum();
                sum / self.children.len() as f64
            }
            What::Parent | What::Least | What::Most => of(covered),
        };
        let (native, unit) = match native {
            NativeUnit::Operations => (figure(Rate::operations_per_s), "ops/sec"),
            _ => (figure(Rate::bytes_per_s) / 1024.0, "kB/sec"),
        };
        let value = figure(Rate::bytes_per_s);
        Sample {
            operations: covered.operations,
            bytes: covered.bytes,
            elapsed_s: covered.elapsed_ns as f64 / NS_PER_S,
            native: Some(Native::new(native, unit)),
            ..what.card(phase).sample(value, point.at())
        }
    }

    /// The work that a figure covers: that of one child, or of all.
    fn covered(&self, what: What) -> Rate {
        let by_rate = |a: &&Rate, b: &&Rate| a.bytes_per_s().total_cmp(&b.bytes_per_s());
        let one = match what {
            What::Parent => return self.parent,
            What::Least => self.children.iter().min_by(by_rate),
            What::Most => self.children.iter().max_by(by_rate),
            What::Children | What::Mean => None,
        };
        one.copied().unwrap_or(self.together)
    }
}

/// The metrics as `describe` lists them.
pub fn cards() -> Vec<MetricCard> {
    let of_phase = |phase| What::ALL.into_iter().map(move |what| what.card(phase));
    Phase::ALL.into_iter().flat_map(of_phase).collect()
}

/// The metric that carries the latencies of a phase.
pub fn is_quoted(sample: &Sample, phase: Phase) -> bool {
    sample.metric == phase.metric()
}

impl What {
    const ALL: [What; 5] = [
        What::Children,
        What::Parent,
        What::Least,
        What::Most,
        What::Mean,
    ];

    fn card(self, phase: Phase) -> MetricCard {
        let pass = phase.pass();
        let (ending, label, about) = match self {
            What::Children => ("", "", pass.about),
            What::Parent => (
                "_parent",
                ", parent",
                "Bytes that count, over the time from the start to the end of the last child, \
                 with the rest of files that stopped writers complete.",
            ),
            What::Least => (
                "_child_min",
                ", slowest child",
                "The lowest rate of a child.",
            ),
            What::Most => (
                "_child_max",
                ", fastest child",
                "The highest rate of a child.",
            ),
            What::Mean => (
                "_child_mean",
                ", mean of children",
                "The mean of their rates.",
            ),
        };
        let name = format!("{}{ending}", phase.metric());
        let label = format!("{}{label}", pass.label);
        let role = match self {
            What::Children => Role::Headline,
            What::Parent | What::Least | What::Most | What::Mean => Role::Detail,
        };
        MetricCard::new(name, label, Unit::BytesPerSecond, role, about)
    }
}

#[cfg(test)]
mod tests {
    use kit::{Reading, Size};

    use super::super::super::grid::Cell;
    use super::*;

    fn reading(operations: u64, elapsed_ns: u64) -> Reading {
        Reading {
            operations,
            bytes: 1_024 * operations,
            elapsed_ns,
            slices: Vec::new(),
            latency: None,
        }
    }

    /// Three children: one that finishes, one that is stopped and completes its file, and one
    /// that has not begun to move records.
    fn figures() -> Figures {
        let share = |operations, elapsed_ns, begun_ns, tail_ns| Share {
            reading: reading(operations, elapsed_ns),
            begun_ns,
            value: Part {
                tail_ns,
                ..Part::default()
            },
        };
        Figures::new(&Outcome {
            reading: reading(150, 1_200_000_000),
            first_done_ns: 1_000_000_000,
            shares: vec![
                share(100, 1_000_000_000, 0, 0),
                share(50, 1_200_000_000, 200_000_000, 800_000_000),
                share(0, 1_100_000_000, 1_000_000_000, 0),
            ],
        })
    }

    const POINT: Point = Point {
        cell: Cell {
            file: Size(100 << 10),
            record: Size(1 << 10),
        },
        children: 3,
    };

    #[test]
    fn children_see_the_sum_of_their_rates_and_the_parent_the_whole_time() {
        let samples = figures().samples(Phase::Write, POINT, NativeUnit::Rate);
        let shown: Vec<_> = samples
            .iter()
            .map(|sample| {
                (
                    sample.metric.as_str(),
                    sample.native.as_ref().unwrap().value,
                )
            })
            .collect();
        // The slowest rate is 0, and left out.
        let wanted = [
            ("initial_write", 150.0),
            ("initial_write_parent", 75.0),
            ("initial_write_child_max", 100.0),
            ("initial_write_child_mean", 50.0),
        ];
        assert_eq!(shown, wanted);
        assert_eq!(samples[0].value, 150.0 * 1_024.0);
    }

    #[test]
    fn operations_are_an_own_unit() {
        let samples = figures().samples(Phase::Read, POINT, NativeUnit::Operations);
        let native = samples[0].native.as_ref().unwrap();
        assert_eq!((native.value, native.unit.as_str()), (150.0, "ops/sec"));
    }

    #[test]
    fn the_least_transfer_is_right_when_a_child_moved_nothing() {
        let (figures, mut counters) = (figures(), BTreeMap::new());
        assert_eq!(figures.idle(), 1);
        figures.count(Phase::Read, POINT, true, &mut counters);
        assert_eq!(counters["read.100k.1k.3.least_bytes"], 0);
        assert_eq!(counters["read.100k.1k.3.child_1_bytes"], 50 << 10);
        assert_eq!(counters["read.100k.1k.3.child_1_elapsed_ns"], 1_000_000_000);
    }
}
