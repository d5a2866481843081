//! The metrics of the stages. A value is all that was done over all the time it took; the
//! original's figure beside it is the mean over trees, of rates or of seconds.

use std::time::Duration;

use kit::histogram::Histogram;
use kit::Reading;
use serde_json::Map;
use wire::{MetricCard, Native, Sample};

use super::stage::{Quantity, Stage};

const MIB: f64 = (1 << 20) as f64;

/// What a stage has come to.
struct Tally {
    trees: u64,
    operations: u64,
    bytes: u64,
    elapsed_ns: u64,
    latencies: Histogram,
    /// Sum of the original's figures for each tree.
    native: f64,
    /// CPU time of the process in user mode and in the kernel.
    cpu: [Duration; 2],
}

/// What all stages have come to.
pub struct Tallies(Vec<Tally>);

impl Tallies {
    /// Nothing yet; allocates all that will be needed.
    pub fn new() -> Self {
        let tally = |_| Tally {
            trees: 0,
            operations: 0,
            bytes: 0,
            elapsed_ns: 0,
            latencies: Histogram::new(),
            native: 0.0,
            cpu: [Duration::ZERO; 2],
        };
        Self(Stage::ALL.into_iter().map(tally).collect())
    }

    /// Adds a timed region on one tree, which wrote, read or removed so many bytes.
    pub fn add(&mut self, stage: Stage, reading: &Reading, bytes: u64, latencies: &Histogram) {
        let tally = &mut self.0[stage as usize];
        tally.trees += 1;
        tally.operations += reading.operations;
        tally.bytes += bytes;
        tally.elapsed_ns += reading.elapsed_ns;
        tally.latencies.merge(latencies);
        tally.native += match stage.description().quantity {
            Quantity::Bytes => bytes as f64 / MIB / reading.elapsed_s(),
            Quantity::Entries => reading.elapsed_s(),
        };
    }

    /// Adds CPU time that was used in a region.
    pub fn spend(&mut self, stage: Stage, cpu: [Duration; 2]) {
        for (all, used) in self.0[stage as usize].cpu.iter_mut().zip(cpu) {
            *all += used;
        }
    }

    /// How many trees each stage has worked on, and the CPU time that took.
    pub fn counters(&self) -> impl Iterator<Item = (String, u64)> + '_ {
        let stages = Stage::ALL.into_iter().zip(&self.0);
        stages.flat_map(|(stage, tally)| {
            let [user_us, system_us] = tally.cpu.map(|used| used.as_micros() as u64);
            let counts = [
                ("trees", tally.trees),
                ("user_us", user_us),
                ("system_us", system_us),
            ];
            counts.map(|(what, count)| (format!("{}_{what}", stage.description().name), count))
        })
    }

    /// The values of the stages that were executed.
    pub fn samples(&self) -> impl Iterator<Item = Sample> + '_ {
        let stages = Stage::ALL.into_iter().zip(&self.0);
        stages
            .filter(|(_, tally)| tally.trees > 0)
            .map(|(stage, tally)| sample(stage, tally))
    }
}

/// The metrics as `describe` lists them.
pub fn cards() -> Vec<MetricCard> {
    Stage::ALL.into_iter().map(card).collect()
}

fn card(stage: Stage) -> MetricCard {
    let of = stage.description();
    MetricCard::new(of.name, of.label, of.quantity.unit(), of.role, of.about)
}

fn sample(stage: Stage, tally: &Tally) -> Sample {
    let elapsed_s = tally.elapsed_ns as f64 / 1e9;
    let (amount, native_unit) = match stage.description().quantity {
        Quantity::Bytes => (tally.bytes, "MB/s"),
        Quantity::Entries => (tally.operations, "seconds"),
    };
    let native = tally.native / tally.trees as f64;
    Sample {
        operations: tally.operations,
        bytes: tally.bytes,
        elapsed_s,
        // Two decimals, as the original prints them.
        native: Some(Native::new((native * 100.0).round() / 100.0, native_unit)),
        latency_ns: tally.latencies.to_wire(),
        ..card(stage).sample(amount as f64 / elapsed_s, Map::new())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tallied(stage: Stage, regions: &[(u64, u64)]) -> Sample {
        let mut tallies = Tallies::new();
        for &(bytes, elapsed_ns) in regions {
            let reading = Reading {
                operations: 10,
                bytes,
                elapsed_ns,
                slices: Vec::new(),
                latency: None,
            };
            tallies.add(stage, &reading, bytes, &Histogram::new());
        }
        let samples: Vec<_> = tallies.samples().collect();
        assert_eq!(samples.len(), 1);
        samples.into_iter().next().unwrap()
    }

    /// Three reads of the original, the third of a tree just read: the mean of rates hides
    /// that two were slow.
    #[test]
    fn the_native_figure_is_the_mean_over_trees() {
        let bytes = 946_872_913;
        let rates = [184.7, 215.5, 1_347.8];
        let regions = rates.map(|rate| (bytes, (bytes as f64 / MIB / rate * 1e9) as u64));
        let sample = tallied(Stage::ReadCompiledTree, &regions);
        let native = sample.native.unwrap();
        assert_eq!((native.value, native.unit.as_str()), (582.67, "MB/s"));
        let all_s: f64 = rates.iter().map(|rate| bytes as f64 / MIB / rate).sum();
        assert!((sample.value / (3.0 * bytes as f64 / all_s) - 1.0).abs() < 1e-6);
    }

    #[test]
    fn deleting_is_seconds_for_the_original_and_a_rate_here() {
        let regions = [(0, 4_000_000_000), (0, 6_000_000_000)];
        let sample = tallied(Stage::DeleteTree, &regions);
        let native = sample.native.unwrap();
        assert_eq!((native.value, native.unit.as_str()), (5.0, "seconds"));
        assert_eq!((sample.value, sample.operations), (2.0, 20));
    }
}
