//! The figure of a pass: the value, and the one that the original would have printed.

use kit::Reading;
use wire::{Direction, Native, Sample, Unit};

use super::grid::Cell;
use super::options::NativeUnit;

/// A timed region without the time that does not count.
#[derive(Clone, Copy)]
pub struct Timed<'a> {
    /// What was timed.
    pub reading: &'a Reading,
    /// Time inside the region that the test did not ask for, in ns.
    pub thought_ns: u64,
}

impl Timed<'_> {
    /// Time that counts, in seconds; more than 0.
    pub fn elapsed_s(self) -> f64 {
        let elapsed_ns = self.reading.elapsed_ns.saturating_sub(self.thought_ns);
        elapsed_ns.max(1) as f64 / 1e9
    }

    /// Bytes per second.
    pub fn bytes_per_s(self) -> f64 {
        self.reading.bytes as f64 / self.elapsed_s()
    }
}

/// The value of `metric` in a cell.
pub fn sample(metric: &str, cell: Cell, timed: Timed, unit: NativeUnit) -> Sample {
    Sample {
        metric: metric.to_owned(),
        value: timed.bytes_per_s(),
        unit: Unit::BytesPerSecond,
        direction: Direction::Higher,
        at: cell.point(),
        operations: timed.reading.operations,
        bytes: timed.reading.bytes,
        elapsed_s: timed.elapsed_s(),
        native: Some(native(timed, unit)),
        latency_ns: timed.reading.latency.clone(),
    }
}

/// As the original computes it for a single stream: whole numbers, rounded down at each step.
fn native(timed: Timed, unit: NativeUnit) -> Native {
    let (operations, elapsed_s) = (timed.reading.operations as f64, timed.elapsed_s());
    let (value, unit) = match unit {
        NativeUnit::Rate => ((timed.bytes_per_s().floor() / 1024.0).floor(), "kB/s"),
        NativeUnit::Operations => ((operations / elapsed_s).floor(), "ops/s"),
        NativeUnit::Latency => ((1e6 * elapsed_s / operations).floor(), "us/op"),
    };
    Native {
        value,
        unit: unit.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn native_figures_are_rounded_down() {
        let reading = Reading {
            operations: 3,
            bytes: 3 << 20,
            elapsed_ns: 9_000_000,
            slices: Vec::new(),
            latency: None,
        };
        let timed = Timed {
            reading: &reading,
            thought_ns: 2_000_000,
        };
        let of = |unit| native(timed, unit).value;
        assert_eq!(of(NativeUnit::Rate), 438_857.0);
        assert_eq!(of(NativeUnit::Operations), 428.0);
        assert_eq!(of(NativeUnit::Latency), 2_333.0);
    }
}
