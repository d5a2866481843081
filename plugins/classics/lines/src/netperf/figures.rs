//! The figures of a test, as netperf derives them from what was counted.

use netperf::client::{Kind, Outcome, Side};

use super::units::Unit;

/// Of one repetition, or the means of several.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Figures {
    pub elapsed_s: f64,
    /// In units per second: transactions, or the bytes that arrived.
    pub throughput: f64,
    /// Sent and received here, then at the remote end; in units of bytes per second.
    pub rates: [f64; 4],
    /// Transactions per second; zero for streams.
    pub transactions: f64,
    /// Mean time between a request and its response, in µs; `None` for none.
    pub round_trip_us: Option<f64>,
    pub local: Load,
    pub remote: Load,
}

/// What it cost an end; `None` where that was not measured, or nothing was done.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Load {
    /// Share of all CPUs that was busy, 0 … 1.
    pub busy: Option<f64>,
    /// µs of CPU time for each KiB, or each transaction where those are the unit.
    pub service_demand_us: Option<f64>,
}

impl Figures {
    /// Of a repetition with `burst` requests on the way besides the first.
    pub fn of(kind: Kind, burst: u32, unit: Unit, outcome: &Outcome) -> Self {
        let Outcome { local, remote, .. } = outcome;
        let elapsed_s = outcome.elapsed_s;
        let rate = |bytes: u64| unit.of_bytes().count(bytes as f64) / elapsed_s;
        let transactions = local.transactions as f64;
        let counts_transactions = unit == Unit::Transactions;
        let units = match counts_transactions {
            true => transactions,
            // What the receiver got; of transactions, both directions.
            false if kind.counts_transactions() || kind.sends() => {
                (remote.sent_bytes + remote.received_bytes) as f64
            }
            false => local.received_bytes as f64,
        };
        // At both ends it is related to what this end moved.
        let work = match counts_transactions {
            true => transactions,
            false => (local.sent_bytes + local.received_bytes) as f64 / 1024.0,
        };
        Self {
            elapsed_s,
            throughput: unit.count(units) / elapsed_s,
            rates: [
                rate(local.sent_bytes),
                rate(local.received_bytes),
                rate(remote.sent_bytes),
                rate(remote.received_bytes),
            ],
            transactions: match kind.counts_transactions() {
                true => transactions / elapsed_s,
                false => 0.0,
            },
            round_trip_us: (outcome.local.transactions > 0).then(|| {
                let on_the_way = match kind.is_connection_test() {
                    true => 1.0,
                    false => 1.0 + f64::from(burst),
                };
                1e6 * (elapsed_s - outcome.paced_s) / transactions * on_the_way
            }),
            local: Load::of(local, elapsed_s, work),
            remote: Load::of(remote, elapsed_s, work),
        }
    }

    /// The means of all repetitions, of which there is one at least.
    pub fn mean(repetitions: &[Self]) -> Self {
        let count = repetitions.len() as f64;
        let mean = |of: &dyn Fn(&Self) -> f64| repetitions.iter().map(of).sum::<f64>() / count;
        let known = |of: &dyn Fn(&Self) -> Option<f64>| {
            let values: Option<Vec<f64>> = repetitions.iter().map(of).collect();
            values.map(|values| values.iter().sum::<f64>() / count)
        };
        Self {
            elapsed_s: mean(&|figures| figures.elapsed_s),
            throughput: mean(&|figures| figures.throughput),
            rates: [0, 1, 2, 3].map(|at| mean(&|figures| figures.rates[at])),
            transactions: mean(&|figures| figures.transactions),
            round_trip_us: known(&|figures| figures.round_trip_us),
            local: Load {
                busy: known(&|figures| figures.local.busy),
                service_demand_us: known(&|figures| figures.local.service_demand_us),
            },
            remote: Load {
                busy: known(&|figures| figures.remote.busy),
                service_demand_us: known(&|figures| figures.remote.service_demand_us),
            },
        }
    }
}

impl Load {
    fn of(side: &Side, elapsed_s: f64, work: f64) -> Self {
        let busy = side.cpu.map(|cpu| cpu.busy);
        let cpus = side.cpus.map(f64::from).filter(|_| work > 0.0);
        Self {
            busy,
            service_demand_us: busy
                .zip(cpus)
                .map(|(busy, cpus)| 1e6 * busy * cpus * elapsed_s / work),
        }
    }
}
