//! Use of the CPUs from `/proc/stat`, netperf's method `S`: of each CPU, all time that was not
//! idle. So iowait and time stolen by a hypervisor count as busy.

use std::fs;

/// Fields of a line: user, nice, system, idle, iowait, irq, softirq, steal, peer, guest_nice.
const FIELDS: usize = 10;

/// Use of the CPUs of one end while the test ran, as shares of all of them.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct CpuUse {
    /// Not idle, 0 … 1.
    pub busy: f64,
    /// In programs.
    pub user: f64,
    /// In the kernel.
    pub system: f64,
    /// Idle, and something waited for a disk.
    pub iowait: f64,
    /// In interrupts.
    pub irq: f64,
    /// In software interrupts: most of what the network costs.
    pub softirq: f64,
    /// Number of the busiest.
    pub peak_cpu: u32,
    /// How busy that one was.
    pub peak_busy: f64,
}

/// The time of each CPU since boot, by what it did, in clock ticks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Times(Vec<(u32, [u64; FIELDS])>);

impl Times {
    /// As they are now; `None` where `/proc/stat` cannot be read.
    pub fn now() -> Option<Self> {
        Some(Self::parse(&fs::read_to_string("/proc/stat").ok()?))
    }

    /// Lines `cpuN user nice …`; the first, `cpu`, is their sum.
    fn parse(stat: &str) -> Self {
        let lines = stat.lines().filter_map(|line| {
            let (number, fields) = line.strip_prefix("cpu")?.split_once(' ')?;
            let mut times = [0; FIELDS];
            for (time, field) in times.iter_mut().zip(fields.split_ascii_whitespace()) {
                *time = field.parse().ok()?;
            }
            Some((number.parse().ok()?, times))
        });
        Self(lines.collect())
    }

    /// How many CPUs there are.
    pub fn cpus(&self) -> u32 {
        self.0.len() as u32
    }

    /// What the CPUs did between `earlier` and these times: the mean over those that are in both.
    pub fn since(&self, earlier: &Self) -> CpuUse {
        let mut used = CpuUse::default();
        let mut cpus = 0;
        for (cpu, after) in &self.0 {
            let Some((_, before)) = earlier.0.iter().find(|(known, _)| known == cpu) else {
                continue;
            };
            cpus += 1;
            let share = shares(before, after);
            used.busy += share.busy;
            used.user += share.user;
            used.system += share.system;
            used.iowait += share.iowait;
            used.irq += share.irq;
            used.softirq += share.softirq;
            if share.busy > used.peak_busy {
                (used.peak_cpu, used.peak_busy) = (*cpu, share.busy);
            }
        }
        let mean = 1.0 / f64::from(cpus.max(1));
        CpuUse {
            busy: used.busy * mean,
            user: used.user * mean,
            system: used.system * mean,
            iowait: used.iowait * mean,
            irq: used.irq * mean,
            softirq: used.softirq * mean,
            ..used
        }
    }
}

/// One CPU's shares; all zero when not a tick has passed.
fn shares(before: &[u64; FIELDS], after: &[u64; FIELDS]) -> CpuUse {
    let passed: [u64; FIELDS] =
        std::array::from_fn(|field| after[field].saturating_sub(before[field]));
    let [user, nice, system, idle, iowait, irq, softirq, ..] = passed;
    let total = passed.iter().sum::<u64>();
    if total == 0 {
        return CpuUse::default();
    }
    let share = |ticks: u64| ticks as f64 / total as f64;
    CpuUse {
        busy: share(total - idle),
        user: share(user + nice),
        system: share(system),
        iowait: share(iowait),
        irq: share(irq),
        softirq: share(softirq),
        ..CpuUse::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_idle_is_busy_and_all_cpus_count_alike() {
        let before = Times::parse("cpu  9 9\ncpu0 0 0 0 0\ncpu1 10 0 0 0\nintr 5\n");
        let after = Times::parse(
            "cpu  9 9\ncpu0 10 10 20 40 10 0 10 0 0 0\ncpu1 10 0 0 50 0 0 50 0 0 0\nintr 5\n",
        );
        let used = after.since(&before);
        assert_eq!(after.cpus(), 2);
        assert_eq!((used.busy, used.peak_cpu, used.peak_busy), (0.55, 0, 0.6));
        assert_eq!((used.user, used.system, used.softirq), (0.1, 0.1, 0.3));
        assert_eq!((used.iowait, used.irq), (0.05, 0.0));
        assert_eq!(before.since(&before), CpuUse::default());
    }

    #[test]
    fn this_machine_has_cpus() {
        let times = Times::now().unwrap();
        assert!(times.cpus() >= 1);
        assert!(times.since(&times).busy == 0.0);
    }
}
