//! Use of the CPUs, from `/proc/stat`.

use std::fs;

use kit::clock;

/// Fields of a line: user, nice, system, idle, iowait, irq, softirq, steal, peer, guest_nice.
const FIELDS: usize = 10;

/// Use of the CPUs in a stretch of time, as shares of all of them, as netperf's method `S` has it:
/// iowait and time stolen by a hypervisor count as busy.
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
#[derive(Debug, Clone, Default, PartialEq, Eq)]
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

    /// Ticks of all CPUs together that were work, and all ticks. Waiting for a disk is no work, nor
    /// is what a hypervisor gave to others; a guest's time is part of user time already.
    pub fn work_and_all(&self) -> [u64; 2] {
        let sum = |fields: &[usize]| -> u64 {
            let ticks = self
                .0
                .iter()
                .flat_map(|(_, ticks)| fields.iter().map(|&field| ticks[field]));
            ticks.sum()
        };
        [sum(&[0, 1, 2, 5, 6]), sum(&[0, 1, 2, 3, 4, 5, 6, 7])]
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

/// An instant, and what the CPUs had done until then.
#[derive(Debug)]
pub struct Mark {
    /// When, on [`clock::now_ns`].
    pub at_ns: u64,
    /// The CPUs' times then, if they are measured.
    pub cpu: Option<Times>,
}

impl Mark {
    /// Now.
    pub fn now(measures_cpu: bool) -> Self {
        let cpu = measures_cpu.then(Times::now).flatten();
        Self {
            cpu,
            at_ns: clock::now_ns(),
        }
    }

    /// Time since `earlier`, in seconds.
    pub fn elapsed_s(&self, earlier: &Self) -> f64 {
        self.at_ns.saturating_sub(earlier.at_ns) as f64 / 1e9
    }

    /// What the CPUs did since `earlier`, if they were measured both times.
    pub fn cpu_use(&self, earlier: &Self) -> Option<CpuUse> {
        Some(self.cpu.as_ref()?.since(earlier.cpu.as_ref()?))
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
    fn work_is_not_waiting() {
        let stat = "cpu  1 1\ncpu0 10 20 30 1000 500 7 8 9 5 5\ncpu1 0 0 0 100 0 0 0 0 0 0\n";
        assert_eq!(Times::parse(stat).work_and_all(), [75, 1_684]);
        assert_eq!(Times::parse("").work_and_all(), [0, 0]);
    }

    #[test]
    fn this_machine_has_cpus() {
        let times = Times::now().unwrap();
        assert!(times.cpus() >= 1);
        assert!(times.since(&times).busy == 0.0);
    }
}
