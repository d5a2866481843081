//! The metrics of a phase: rates on the monotonic clock, and beside them the original's, which
//! are divided as integers by the whole seconds of the calendar.

use kit::Reading;
use serde_json::Map;
use wire::{MetricCard, Native, Role, Sample, Unit};

use super::phase::Phase;

/// A phase, done.
pub struct Measured {
    pub phase: Phase,
    pub reading: Reading,
    /// Whole seconds of the calendar between its two instants.
    pub calendar_s: u64,
}

/// The metrics as `describe` lists them.
pub fn cards() -> Vec<MetricCard> {
    let rates = Phase::ALL.into_iter().map(rate);
    rates.chain([data()]).collect()
}

fn rate(phase: Phase) -> MetricCard {
    let (name, label) = (phase.name(), phase.label());
    MetricCard::new(name, label, Unit::PerSecond, Role::Headline, about(phase))
}

fn data() -> MetricCard {
    let about = "Bytes of all files over the time of creating them; nothing is synced.";
    let (name, label) = ("data_written", "data written");
    MetricCard::new(name, label, Unit::BytesPerSecond, Role::Detail, about)
}

/// The values of the metrics of a phase.
pub fn samples(measured: &Measured) -> Vec<Sample> {
    let Measured {
        phase,
        ref reading,
        calendar_s,
    } = *measured;
    let rate = Sample {
        native: Some(native(reading.operations, calendar_s, "per second")),
        latency_ns: reading.latency.clone(),
        ..reading.sample(rate(phase), reading.operations_per_s(), Map::new())
    };
    let data = (reading.bytes > 0).then(|| Sample {
        native: Some(native(reading.bytes / 1_024, calendar_s, "KiB per second")),
        ..reading.sample(data(), reading.bytes_per_s(), Map::new())
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
    Native::new(count.checked_div(calendar_s).unwrap_or(0) as f64, unit)
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
