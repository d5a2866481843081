//! The events of a trial.

use std::collections::{BTreeMap, BTreeSet};

use kit::event_sink::Totals;
use kit::{EventSink, Trial};
use serde_json::Value;
use wire::{Card, Event, Failure, Sample};

/// All events of a trial, and its sums.
pub struct Taken {
    /// In order.
    pub events: Vec<Event>,
    /// As the last line shows them.
    pub totals: Totals,
}

impl Taken {
    /// Executes a trial.
    ///
    /// # Errors
    /// Those of the trial.
    pub fn of(trial: Box<dyn Trial>) -> Result<Self, Failure> {
        let mut events = Vec::new();
        let mut emit = |event| events.push(event);
        let mut event_sink = EventSink::new(&mut emit);
        trial.run(&mut event_sink)?;
        let totals = event_sink.totals;
        Ok(Self { events, totals })
    }

    /// What was measured.
    pub fn samples(&self) -> Vec<&Sample> {
        let samples = self.events.iter().filter_map(|event| match event {
            Event::Sample(sample) => Some(sample),
            _ => None,
        });
        samples.collect()
    }

    /// What was measured of a metric, in order.
    pub fn samples_of(&self, metric: &str) -> Vec<&Sample> {
        let mut samples = self.samples();
        samples.retain(|sample| sample.metric == metric);
        samples
    }

    /// All values of a metric, in order.
    pub fn values_of(&self, metric: &str) -> Vec<f64> {
        let samples = self.samples_of(metric).into_iter();
        samples.map(|sample| sample.value).collect()
    }

    /// The codes of all warnings.
    pub fn warnings(&self) -> Vec<&str> {
        let warnings = self.events.iter().filter_map(|event| match event {
            Event::Warning(warning) => Some(warning.code.as_str()),
            _ => None,
        });
        warnings.collect()
    }

    /// Something was done, and the intervals add up to the totals.
    pub fn assert_sums(&self) {
        let (mut operations, mut bytes) = (0, 0);
        for event in &self.events {
            if let Event::Interval(interval) = event {
                operations += interval.operations;
                bytes += interval.bytes;
            }
        }
        assert!(operations > 0, "{:?}", self.totals);
        assert_eq!(
            (operations, bytes),
            (self.totals.operations, self.totals.bytes)
        );
    }

    /// Every metric of the card is given at every point of the grid, as declared.
    pub fn assert_metrics(&self, card: &Card) {
        let declared: BTreeMap<_, _> = card
            .metrics
            .iter()
            .map(|metric| (metric.name.as_str(), metric))
            .collect();
        let mut seen = BTreeSet::new();
        for sample in self.samples() {
            let metric = declared[sample.metric.as_str()];
            assert_eq!(
                (sample.unit, sample.direction),
                (metric.unit, metric.direction)
            );
            let is_amount = sample.value.is_finite() && sample.value >= 0.0;
            assert!(is_amount, "{sample:?}");
            assert!(sample.at.keys().eq(card.grid.iter()), "{sample:?}");
            if let Some(latency) = &sample.latency_ns {
                assert_eq!(latency.count, sample.operations, "{sample:?}");
            }
            seen.insert((
                sample.metric.as_str(),
                Value::from(sample.at.clone()).to_string(),
            ));
        }
        let points: BTreeSet<_> = seen.iter().map(|(_, point)| point).collect();
        assert_eq!(seen.len(), declared.len() * points.len(), "{seen:?}");
    }
}
