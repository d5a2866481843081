//! Metrics of the two hosts: how busy their CPUs were, and for how much work.

use wire::{MetricCard, Role, Side, Unit};

/// What one point of a grid cost both hosts.
pub struct Effort<'a> {
    /// The end where the job is.
    pub near: &'a Side,
    /// The other one.
    pub far: &'a Side,
    /// Between the two instants of the timing formula.
    pub elapsed_s: f64,
    /// As long the server was looked at: with datagrams until it was quiet.
    pub far_elapsed_s: f64,
    /// Units of work that were done.
    pub work: u64,
}

/// A metric of a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HostMetric {
    CpuNear,
    CpuFar,
    DemandNear,
    DemandFar,
}

impl HostMetric {
    /// All of them, in the order of reports.
    pub const ALL: [Self; 4] = [
        Self::CpuNear,
        Self::CpuFar,
        Self::DemandNear,
        Self::DemandFar,
    ];

    /// As `describe` lists it, for work that is counted in units called `work` ("byte received"),
    /// which cost `demand`.
    pub fn card(self, work: &str, demand: Unit) -> MetricCard {
        let (name, label, end) = match self {
            Self::CpuNear => ("cpu_near", "CPU in use, client", "client"),
            Self::CpuFar => ("cpu_far", "CPU in use, server", "server"),
            Self::DemandNear => ("service_demand_near", "service demand, client", "client"),
            Self::DemandFar => ("service_demand_far", "service demand, server", "server"),
        };
        let (unit, about) = match self {
            Self::CpuNear | Self::CpuFar => (
                Unit::One,
                format!(
                    "Share of all CPU time of the {end}'s host that was spent in work of any kind."
                ),
            ),
            Self::DemandNear | Self::DemandFar => {
                (demand, format!("CPU time of the {end}'s host per {work}."))
            }
        };
        MetricCard::new(name, label, unit, Role::Detail, about)
    }

    /// Its value, in the unit of its card.
    pub fn value(self, effort: &Effort) -> f64 {
        let demand = |side: &Side, seconds: f64| {
            side.busy * f64::from(side.cpus) * seconds / effort.work.max(1) as f64
        };
        match self {
            Self::CpuNear => effort.near.busy,
            Self::CpuFar => effort.far.busy,
            Self::DemandNear => demand(effort.near, effort.elapsed_s),
            Self::DemandFar => demand(effort.far, effort.far_elapsed_s),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn demand_is_the_time_of_all_cpus_for_a_unit_of_work() {
        let side = |cpus, busy| Side {
            cpus,
            busy,
            ..Side::default()
        };
        let effort = Effort {
            near: &side(4, 0.5),
            far: &side(1, 0.25),
            elapsed_s: 2.0,
            far_elapsed_s: 4.0,
            work: 1_000,
        };
        let values = HostMetric::ALL.map(|metric| metric.value(&effort));
        assert_eq!(values, [0.5, 0.25, 0.004, 0.001]);
    }
}
