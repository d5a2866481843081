//! The metrics of a phase: its rate is what is quoted, latency and CPU time explain it.

use std::time::Duration;

use kit::Reading;
use wire::{Direction, MetricCard, Native, Role, Sample, Unit};

use super::params::{Cell, Params, ORDER};
use crate::workload::edges::{Edge, Edges};
use crate::workload::phase::Phase;

const MIB: f64 = 1_048_576.0;

/// What is measured of each phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum What {
    Rate,
    LatencyMean,
    LatencyMax,
    Cpu,
}

/// What a phase gave.
pub struct Measured<'a> {
    /// Which one.
    pub phase: Phase,
    /// The work of all threads.
    pub reading: &'a Reading,
    /// CPU time that the threads used.
    pub cpu: Duration,
    /// Their calls of open, fsync and close.
    pub edges: &'a Edges,
}

/// The metrics as `describe` lists them.
pub fn cards() -> Vec<MetricCard> {
    let of_phase = |phase: Phase| {
        let calls = edges_of(phase).iter();
        let calls = calls.map(move |&edge| phase.region().card(edge));
        let whats = What::ALL.into_iter().map(move |what| what.card(phase));
        whats.chain(calls)
    };
    ORDER.into_iter().flat_map(of_phase).collect()
}

/// The values of all metrics of a phase.
pub fn samples(params: &Params, cell: Cell, measured: &Measured) -> Vec<Sample> {
    let sample = |what: What| what.sample(params, cell, measured);
    let phase = measured.phase;
    let calls = edges_of(phase).iter();
    let calls = calls.filter_map(|&edge| phase.region().sample(edge, cell.point(), measured.edges));
    What::ALL.into_iter().map(sample).chain(calls).collect()
}

/// The calls at the ends of a phase that are quoted. A file that was only read has nothing to be
/// synced.
fn edges_of(phase: Phase) -> &'static [Edge] {
    if phase.is_write() {
        &[Edge::Open, Edge::Fsync, Edge::Close]
    } else {
        &[Edge::Open, Edge::Close]
    }
}

impl What {
    const ALL: [What; 4] = [What::Rate, What::LatencyMean, What::LatencyMax, What::Cpu];

    fn card(self, phase: Phase) -> MetricCard {
        let (ending, label, about) = match self {
            What::Rate => (
                "",
                "",
                "Bytes of all threads over the time of the phase, opening, fsync and closing \
                 included.",
            ),
            What::LatencyMean => (
                "_latency_mean",
                " latency, mean",
                "Mean time of one read or write, over all threads; fsync is not included.",
            ),
            What::LatencyMax => (
                "_latency_max",
                " latency, maximum",
                "Longest time of one read or write of any thread; fsync is not included.",
            ),
            What::Cpu => (
                "_cpu",
                " CPU time",
                "CPU time that the threads used in the phase, in user mode and in the kernel.",
            ),
        };
        MetricCard {
            name: phase.name().to_owned() + ending,
            label: phase.label().to_owned() + label,
            unit: self.unit(),
            direction: self.direction(),
            role: match self {
                What::Rate => Role::Headline,
                What::LatencyMean | What::LatencyMax | What::Cpu => Role::Detail,
            },
            about: about.to_owned(),
        }
    }

    fn unit(self) -> Unit {
        match self {
            What::Rate => Unit::BytesPerSecond,
            What::LatencyMean | What::LatencyMax | What::Cpu => Unit::Second,
        }
    }

    fn direction(self) -> Direction {
        match self {
            What::Rate => Direction::Higher,
            What::LatencyMean | What::LatencyMax | What::Cpu => Direction::Lower,
        }
    }

    fn sample(self, params: &Params, cell: Cell, measured: &Measured) -> Sample {
        let Measured { phase, reading, .. } = *measured;
        let latency = reading.latency.as_ref().expect("operations are timed");
        let cpu_s = measured.cpu.as_secs_f64();
        let (value, native) = match self {
            What::Rate => (reading.bytes_per_s(), rate(params, cell, measured)),
            What::LatencyMean => (latency.mean / 1e9, native(latency.mean / 1e6, "ms")),
            What::LatencyMax => {
                let max_ns = latency.max as f64;
                (max_ns / 1e9, native(max_ns / 1e6, "ms"))
            }
            What::Cpu => {
                let overcount = params.version.cpu_overcount(cell.threads);
                let share = overcount * cpu_s / reading.elapsed_s();
                (cpu_s, native(100.0 * share, "%"))
            }
        };
        let card = self.card(phase);
        Sample {
            metric: card.name,
            value,
            unit: card.unit,
            direction: card.direction,
            at: cell.point(),
            operations: reading.operations,
            bytes: reading.bytes,
            elapsed_s: reading.elapsed_s(),
            native: Some(native),
            latency_ns: (self == What::Rate).then(|| latency.clone()),
        }
    }
}

/// The rate that the version prints. Where it credits bytes that were not moved, the unit says
/// so: such a figure must not be mistaken for a rate.
fn rate(params: &Params, cell: Cell, measured: &Measured) -> Native {
    let Measured { phase, reading, .. } = *measured;
    let credited = params
        .version
        .credited_bytes(phase, reading.bytes, cell.bytes());
    let unit = if credited == reading.bytes {
        "MB/s"
    } else {
        "MB/s, whole files credited"
    };
    native(credited as f64 / MIB / reading.elapsed_s(), unit)
}

fn native(value: f64, unit: &str) -> Native {
    Native {
        value,
        unit: unit.to_owned(),
    }
}
