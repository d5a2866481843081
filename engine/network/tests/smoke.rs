//! Every workload in the list, at the smoke size of its card, against a server in this process:
//! sums add up, every metric is given at every point of the grid, and both ends agree.

mod common;

use common::{execute, Served};
use network::workload::{Workload, ALL};
use serde_json::{json, Value};
use testing::subject::smoke_with;
use testing::Taken;

fn check(workload: &dyn Workload, served: &Served, changes: Value) -> Taken {
    let card = workload.card();
    let taken = execute(workload, &smoke_with(&card, &changes), &served.far());
    taken.assert_sums();
    taken.assert_metrics(&card);
    taken
}

#[test]
fn every_workload_runs_at_its_smoke_size_and_adds_up() {
    for workload in ALL {
        let served = Served::at("127.0.0.1");
        let taken = check(*workload, &served, json!({}));
        let headlines = taken.samples();
        assert!(headlines[0].value > 0.0, "{:?}", headlines[0]);
    }
}

#[test]
fn every_workload_runs_over_ipv6_and_with_each_operation_timed() {
    for workload in ALL {
        let served = Served::at("::1");
        let taken = check(*workload, &served, json!({"timing": "operation"}));
        let timed = taken.samples().into_iter();
        let timed = timed.filter(|sample| sample.latency_ns.is_some());
        assert!(timed.count() > 0, "{}", workload.card().name);
    }
}
