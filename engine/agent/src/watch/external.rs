//! What others did on the CPUs that measure: their time there, and what the hypervisor took.
//!
//! Others' time is what the CPUs spent in processes (`/proc/stat`: user, nice, system; that of guests
//! is in them) less what is ours: the lab and all that it has started, the servers of the system under
//! test, and threads of the kernel that may run there, because they may work for us. (Where one has run
//! *last* says little: those of btrfs move between CPUs in each trial.) Time in interrupts belongs to
//! nobody, and our own input and output cause it too.
//!
//! So the system's own work is no part of it, but for that of kernel threads which ended meanwhile; the
//! price is to miss some of others'. The kernel counts the CPUs in ticks, and ours as it was: a
//! difference below zero is chance, and counts as none. Where nothing is left without them, the threads
//! of the kernel are not read, for they are most of what there is; what they used since they were read
//! is taken off the next time.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use kit::proc::{self, Machine, Process};
use rustix::process::Pid;
use rustix::thread::{sched_getaffinity, CpuSet};

use super::Who;

/// What others had of some CPUs.
#[derive(Debug, PartialEq)]
pub struct Had {
    pub cpu_s: f64,
    /// `None` where the kernel does not count it.
    pub steal_s: Option<f64>,
    /// How many CPUs that is of.
    pub cpus: u32,
}

/// The counters of all CPUs and of our processes; which CPUs matter is said afterwards.
pub struct External {
    cpus: BTreeMap<u32, Machine>,
    ours: HashMap<u32, Process>,
    /// When they were read last.
    kernel: HashMap<u32, Process>,
}

impl External {
    pub fn from_now(who: &Who) -> Self {
        Self {
            ours: all_of(who),
            kernel: proc::kernel_processes(),
            cpus: proc::cpus(),
        }
    }

    /// Since then, or since it was asked before; `None` where the CPUs are not known or not there.
    pub fn seen(&mut self, who: &Who, cpus: Option<&[u32]>) -> Option<Had> {
        self.differ(
            proc::cpus(),
            all_of(who),
            cpus,
            may_run,
            proc::kernel_processes,
        )
    }

    fn differ(
        &mut self,
        cpus: BTreeMap<u32, Machine>,
        ours: HashMap<u32, Process>,
        asked: Option<&[u32]>,
        may_run: impl Fn(u32, &BTreeSet<u32>) -> bool,
        kernel: impl FnOnce() -> HashMap<u32, Process>,
    ) -> Option<Had> {
        let was = std::mem::replace(&mut self.cpus, cpus);
        let old = std::mem::replace(&mut self.ours, ours);
        let asked: BTreeSet<u32> = match asked? {
            [] => self.cpus.keys().copied().collect(),
            some => some.iter().copied().collect(),
        };
        let (mut left, mut steal) = (0, Some(0));
        for cpu in &asked {
            let (before, now) = (was.get(cpu)?, self.cpus.get(cpu)?);
            left += now.busy_ticks.saturating_sub(before.busy_ticks) as i64;
            let both = now.steal_ticks.zip(before.steal_ticks);
            steal = steal
                .zip(both)
                .map(|(sum, (now, before))| sum + now.saturating_sub(before));
        }
        left -= grown(&old, &self.ours, |pid, _| may_run(pid, &asked));
        if left > 0 {
            let then = std::mem::replace(&mut self.kernel, kernel());
            left -= grown(&then, &self.kernel, |pid, _| may_run(pid, &asked));
        }
        Some(Had {
            cpu_s: proc::ticks_to_s(left.max(0) as u64),
            steal_s: steal.map(proc::ticks_to_s),
            cpus: asked.len() as u32,
        })
    }
}

fn all_of(who: &Who) -> HashMap<u32, Process> {
    let every = who.ours.iter().chain(&who.servers);
    every.map(|(pid, one)| (*pid, *one)).collect()
}

/// Ticks by which processes have grown, with their ended children; those that were not there before
/// with all that they have used.
fn grown(
    before: &HashMap<u32, Process>,
    now: &HashMap<u32, Process>,
    counts: impl Fn(u32, &Process) -> bool,
) -> i64 {
    let used = |one: &Process| one.cpu_ticks + one.children_ticks;
    let ticks = now.iter().filter(|(pid, one)| counts(**pid, one));
    ticks
        .map(|(pid, one)| {
            let before = before
                .get(pid)
                .filter(|old| old.started_ticks == one.started_ticks);
            used(one).saturating_sub(before.map_or(0, used)) as i64
        })
        .sum()
}

/// Whether a process may have run on one of them; one that has ended may.
fn may_run(pid: u32, cpus: &BTreeSet<u32>) -> bool {
    let allowed = Pid::from_raw(pid as i32).map(|pid| sched_getaffinity(Some(pid)));
    match allowed {
        Some(Ok(allowed)) => cpus
            .iter()
            .any(|cpu| *cpu as usize >= CpuSet::MAX_CPU || allowed.is_set(*cpu as usize)),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine(busy_ticks: u64, steal_ticks: Option<u64>) -> Machine {
        Machine {
            busy_ticks,
            steal_ticks,
        }
    }

    fn process(cpu_ticks: u64, children_ticks: u64) -> Process {
        Process {
            parent: 1,
            cpu_ticks,
            children_ticks,
            started_ticks: 5,
            is_kernel_thread: false,
        }
    }

    fn external(
        cpus: [(u32, Machine); 2],
        ours: &[(u32, Process)],
        kernel: &[(u32, Process)],
    ) -> External {
        External {
            cpus: cpus.into(),
            ours: ours.iter().copied().collect(),
            kernel: kernel.iter().copied().collect(),
        }
    }

    #[test]
    fn our_own_work_is_taken_off_and_what_is_on_other_cpus_is_not_counted() {
        let before = [(0, machine(0, Some(0))), (1, machine(300, Some(100)))];
        let now = [(0, machine(9_000, Some(0))), (1, machine(700, Some(300)))];
        let mut seen = external(before, &[(50, process(25, 0))], &[(70, process(12, 0))]);
        let ours = HashMap::from([
            (50, process(40, 10)),
            (51, process(0, 125)),
            (53, process(800, 0)), // May not.
            (60, process(12, 0)),
        ]);
        // One may run only on another CPU.
        let kernel = HashMap::from([(70, process(25, 0)), (71, process(900, 0))]);
        let asked = Some(&[1][..]);
        let may_run = |pid, _: &BTreeSet<u32>| ![53, 71].contains(&pid);
        let had = seen.differ(now.into(), ours, asked, may_run, || kernel);
        // Busy for 400 ticks, less 25 + 125 + 12 of ours and 13 of the kernel's thread.
        let expected = Had {
            cpu_s: proc::ticks_to_s(225),
            steal_s: Some(proc::ticks_to_s(200)),
            cpus: 1,
        };
        assert_eq!(had, Some(expected));
    }

    #[test]
    fn below_zero_is_chance_and_what_is_not_there_is_not_known() {
        let cpus = [(0, machine(0, None)), (1, machine(5, None))];
        let mut seen = external(cpus, &[(50, process(0, 0))], &[]);
        let ours = || HashMap::from([(50, process(50, 0))]);
        let ask = |seen: &mut External, asked: Option<&[u32]>| {
            seen.differ(cpus.into(), ours(), asked, |_, _| true, HashMap::new)
        };
        let none = Had {
            cpu_s: 0.0,
            steal_s: None,
            cpus: 1,
        };
        assert_eq!(ask(&mut seen, Some(&[1])), Some(none));
        assert_eq!(ask(&mut seen, Some(&[1, 2])), None);
        assert_eq!(ask(&mut seen, None), None);
        assert_eq!(ask(&mut seen, Some(&[])).unwrap().cpus, 2);
    }

    #[test]
    fn threads_of_the_kernel_are_read_where_something_is_left() {
        let at = |busy| [(0, machine(0, None)), (1, machine(busy, None))];
        let thread = |used| (70, process(used, 0));
        let mut seen = external(at(0), &[(50, process(0, 0))], &[thread(500)]);
        let ours = |used| HashMap::from([(50, process(used, 0))]);
        let had = seen.differ(
            at(100).into(),
            ours(100),
            Some(&[1]),
            |_, _| true,
            || panic!("they are read"),
        );
        assert_eq!(had.unwrap().cpu_s, 0.0);
        let had = seen.differ(
            at(400).into(),
            ours(200),
            Some(&[1]),
            |_, _| true,
            || [thread(600)].into(),
        );
        // Busy for 300 ticks, less 100 of ours, and the thread's 100 since it was read.
        assert_eq!(had.unwrap().cpu_s, proc::ticks_to_s(100));
        assert_eq!(seen.kernel[&70].cpu_ticks, 600);
    }

    #[test]
    fn a_number_that_is_given_again_is_another_process() {
        let old = HashMap::from([(50, process(80, 0))]);
        let mut other = process(7, 0);
        other.started_ticks = 9;
        assert_eq!(grown(&old, &[(50, other)].into(), |_, _| true), 7);
        assert_eq!(grown(&old, &[(50, process(85, 1))].into(), |_, _| true), 6);
        assert_eq!(grown(&old, &HashMap::new(), |_, _| true), 0);
    }

    #[test]
    fn whoever_has_ended_may_have_run() {
        let own = std::process::id();
        let allowed = sched_getaffinity(None).unwrap();
        let first = (0..CpuSet::MAX_CPU)
            .find(|cpu| allowed.is_set(*cpu))
            .unwrap() as u32;
        let never = (0..CpuSet::MAX_CPU)
            .find(|cpu| !allowed.is_set(*cpu))
            .unwrap() as u32;
        assert!(may_run(own, &[first, never].into()));
        assert!(!may_run(own, &[never].into()));
        assert!(may_run(i32::MAX as u32, &[never].into()));
    }
}
