//! Every workload in the list, at the smoke size of its card, against a far end in this process:
//! sums add up, every metric is given at every point of the grid, and both ends agree.

mod common;

use std::collections::{BTreeMap, BTreeSet};

use common::{execute, samples, smoke_with, Served, Taken};
use network::workload::{Workload, ALL};
use serde_json::{json, Value};
use wire::Event;

fn check(workload: &dyn Workload, served: &Served, changes: Value) -> Taken {
    let parameters = smoke_with(workload, changes);
    let taken = execute(workload, &parameters, &served.far());
    assert_sums(&taken);
    assert_metrics(workload, &taken);
    taken
}

fn assert_sums(taken: &Taken) {
    let (mut operations, mut bytes) = (0, 0);
    for event in &taken.events {
        if let Event::Interval(interval) = event {
            operations += interval.operations;
            bytes += interval.bytes;
        }
    }
    assert!(operations > 0, "{:?}", taken.totals);
    assert_eq!(
        (operations, bytes),
        (taken.totals.operations, taken.totals.bytes)
    );
}

fn assert_metrics(workload: &dyn Workload, taken: &Taken) {
    let card = workload.card();
    let declared: BTreeMap<_, _> = card
        .metrics
        .iter()
        .map(|metric| (metric.name.as_str(), metric))
        .collect();
    let mut seen = BTreeSet::new();
    for sample in samples(taken) {
        let metric = declared[sample.metric.as_str()];
        assert_eq!(
            (sample.unit, sample.direction),
            (metric.unit, metric.direction)
        );
        assert!(
            sample.value.is_finite() && sample.value >= 0.0,
            "{sample:?}"
        );
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

#[test]
fn every_workload_runs_at_its_smoke_size_and_adds_up() {
    for workload in ALL {
        let served = Served::at("127.0.0.1");
        let taken = check(*workload, &served, json!({}));
        let headlines = samples(&taken);
        assert!(headlines[0].value > 0.0, "{:?}", headlines[0]);
    }
}

#[test]
fn every_workload_runs_over_ipv6_and_with_each_operation_timed() {
    for workload in ALL {
        let served = Served::at("::1");
        let taken = check(*workload, &served, json!({"timing": "operation"}));
        let timed = samples(&taken).into_iter();
        let timed = timed.filter(|sample| sample.latency_ns.is_some());
        assert!(timed.count() > 0, "{}", workload.card().name);
    }
}
