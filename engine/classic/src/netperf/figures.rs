//! The figures of a test, as netperf derives them from what was counted.

use network::netperf::client::{Kind, Outcome, Side};

use super::units::Unit;

/// Of one repetition, or the means of several.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Figures {
    pub elapsed_s: f64,
    /// In units per second: transactions, or the bytes that arrived.
    pub throughput: f64,
    /// Sent and received here, then at the far end; in units of bytes per second.
    pub rates: [f64; 4],
    /// Transactions per second; zero for streams.
    pub transactions: f64,
    /// Mean time between a request and its response, in µs; `None` for none.
    pub round_trip_us: Option<f64>,
    pub near: Load,
    pub far: Load,
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
        let Outcome { near, far, .. } = outcome;
        let elapsed_s = outcome.elapsed_s;
        let rate = |bytes: u64| unit.of_bytes().count(bytes as f64) / elapsed_s;
        let transactions = near.transactions as f64;
        let counts_transactions = unit == Unit::Transactions;
        let units = match counts_transactions {
            true => transactions,
            // What the receiver got; of transactions, both directions.
            false if kind.counts_transactions() || kind.sends() => {
                (far.sent_bytes + far.received_bytes) as f64
            }
            false => near.received_bytes as f64,
        };
        // At both ends it is related to what this end moved.
        let work = match counts_transactions {
            true => transactions,
            false => (near.sent_bytes + near.received_bytes) as f64 / 1024.0,
        };
        Self {
            elapsed_s,
            throughput: unit.count(units) / elapsed_s,
            rates: [
                rate(near.sent_bytes),
                rate(near.received_bytes),
                rate(far.sent_bytes),
                rate(far.received_bytes),
            ],
            transactions: match kind.counts_transactions() {
                true => transactions / elapsed_s,
                false => 0.0,
            },
            round_trip_us: (outcome.near.transactions > 0).then(|| {
                let on_the_way = match kind.is_connection_test() {
                    true => 1.0,
                    false => 1.0 + f64::from(burst),
                };
                1e6 * (elapsed_s - outcome.paced_s) / transactions * on_the_way
            }),
            near: Load::of(near, elapsed_s, work),
            far: Load::of(far, elapsed_s, work),
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
            elapsed_s: mean(&|one| one.elapsed_s),
            throughput: mean(&|one| one.throughput),
            rates: [0, 1, 2, 3].map(|at| mean(&|one| one.rates[at])),
            transactions: mean(&|one| one.transactions),
            round_trip_us: known(&|one| one.round_trip_us),
            near: Load {
                busy: known(&|one| one.near.busy),
                service_demand_us: known(&|one| one.near.service_demand_us),
            },
            far: Load {
                busy: known(&|one| one.far.busy),
                service_demand_us: known(&|one| one.far.service_demand_us),
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
