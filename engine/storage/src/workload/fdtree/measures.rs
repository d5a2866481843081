//! The metrics of a phase: rates on the monotonic clock, and beside them the original's, which
//! are divided as integers by the whole seconds of the calendar.

use kit::Reading;
use serde_json::Map;
use wire::{Direction, MetricCard, Native, Role, Sample, Unit};

use super::phase::Phase;

const DATA: &str = "data_written";

/// A phase, done.
pub struct Measured {
    pub phase: Phase,
    pub reading: Reading,
    /// Whole seconds of the calendar between its two instants.
    pub calendar_s: u64,
}

/// The metrics as `describe` lists them.
pub fn cards() -> Vec<MetricCard> {
    let rate = |phase: Phase| MetricCard {
        name: phase.name().to_owned(),
        label: phase.label().to_owned(),
        unit: Unit::PerSecond,
        direction: Direction::Higher,
        role: Role::Headline,
        about: about(phase).to_owned(),
    };
    let data = MetricCard {
        name: DATA.to_owned(),
        label: "data written".to_owned(),
        unit: Unit::BytesPerSecond,
        direction: Direction::Higher,
        role: Role::Detail,
        about: "Bytes of all files over the time of creating them; nothing is synced.".to_owned(),
    };
    let rates = Phase::ALL.into_iter().map(rate);
    rates.chain([data]).collect()
}

/// The values of the metrics of a phase.
pub fn samples(measured: &Measured) -> Vec<Sample> {
    let Measured {
        phase,
        ref reading,
        calendar_s,
    } = *measured;
    let rate = Sample {
        metric: phase.name().to_owned(),
        value: reading.operations_per_s(),
        unit: Unit::PerSecond,
        direction: Direction::Higher,
        at: Map::new(),
        operations: reading.operations,
        bytes: reading.bytes,
        elapsed_s: reading.elapsed_s(),
        native: Some(native(reading.operations, calendar_s, "per second")),
        latency_ns: reading.latency.clone(),
    };
    let data = (reading.bytes > 0).then(|| Sample {
        metric: DATA.to_owned(),
        value: reading.bytes_per_s(),
        unit: Unit::BytesPerSecond,
        native: Some(native(reading.bytes / 1_024, calendar_s, "KiB per second")),
        latency_ns: None,
        ..rate.clone()
    });
    [rate].into_iter().chain(data).collect()
}

fn about(phase: Phase) -> &'static str {
    match phase {
        Phase::CreateDirectories => "Directories, the root included, over the time of making all.",
        Phase::CreateFiles => "Files over the time of creating, writing and closing all.",
        Phase::RemoveFiles => "Files over the time of removing all.",
        Phase::RemoveDirectories => {
            "Directories, the root included, over the time of removing all."
        }
    }
}

/// Where a phase begins and ends in the same second, the original prints 0.
fn native(count: u64, calendar_s: u64, unit: &str) -> Native {
    Native {
        value: count.checked_div(calendar_s).unwrap_or(0) as f64,
        unit: unit.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A run of the original: 425 files and 3400 KiB in 2 s, removed in 0 s.
    #[test]
    fn native_figures_are_those_that_the_original_prints() {
        let natives = |phase, bytes, calendar_s| {
            let measured = Measured {
                phase,
                reading: Reading {
                    operations: 425,
                    bytes,
                    elapsed_ns: 1_700_000_000,
                    slices: Vec::new(),
                    latency: None,
                },
                calendar_s,
            };
            let natives = samples(&measured).into_iter().map(|sample| sample.native);
            natives
                .map(|native| native.unwrap().value)
                .collect::<Vec<_>>()
        };
        assert_eq!(
            natives(Phase::CreateFiles, 3_400 << 10, 2),
            [212.0, 1_700.0]
        );
        assert_eq!(natives(Phase::RemoveFiles, 0, 0), [0.0]);
    }
}
