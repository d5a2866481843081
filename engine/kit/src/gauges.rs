//! Gauges: what the trial used, and what everything else used meanwhile. Read before and after,
//! never during.

use std::collections::HashMap;
use std::mem;
use std::time::Duration;

use wire::{Pressure, Usage};

use crate::device::{Counters, Device};
use crate::proc::{self, KernelThread, Machine, Process};

/// All gauges at one instant.
pub struct Gauges {
    own: libc::rusage,
    /// Programs that this process started and that have ended.
    children: libc::rusage,
    parent: Option<Process>,
    /// `None` where others are not counted.
    kernel_threads: Option<HashMap<u32, KernelThread>>,
    machine: Option<Machine>,
    pressure: Option<Pressure>,
    device: Option<(Device, Counters)>,
}

impl Gauges {
    /// Reads all gauges; `device` is the one under the target. There may be hundreds of kernel
    /// threads to read, so that it is said whether `others` are counted.
    pub fn read(device: Option<&Device>, others: bool) -> Self {
        Self {
            own: own_usage(),
            children: usage_of(libc::RUSAGE_CHILDREN),
            parent: proc::starter().and_then(proc::process),
            kernel_threads: others.then(proc::kernel_threads),
            machine: proc::machine(),
            pressure: pressure(),
            device: device.and_then(|device| Some((device.clone(), device.counters()?))),
        }
    }

    /// What was used since these gauges were read.
    pub fn usage_until_now(&self) -> Usage {
        let device = self.device.as_ref().map(|(device, _)| device);
        let now = Gauges::read(device, self.kernel_threads.is_some());
        let own_s = |time: fn(&libc::rusage) -> libc::timeval| {
            let used_s =
                |gauges: &Self| seconds(time(&gauges.own)) + seconds(time(&gauges.children));
            used_s(&now) - used_s(self)
        };
        let user_s = own_s(|usage| usage.ru_utime);
        let system_s = own_s(|usage| usage.ru_stime);
        let parent_s = match (self.parent, now.parent) {
            (Some(before), Some(now)) => used_s(before, now),
            _ => 0.0,
        };
        let both = self
            .kernel_threads
            .as_ref()
            .zip(now.kernel_threads.as_ref());
        let kernel_threads_s = both.map(|(before, now)| kernel_threads_s(before, now));
        let busy_s = match (self.machine, now.machine) {
            (Some(before), Some(now)) => proc::ticks_to_s(now.busy_ticks - before.busy_ticks),
            _ => 0.0,
        };
        // Ticks are coarse, so that a quiet machine may come out a little below zero.
        let ours_s = user_s + system_s + parent_s;
        let foreign_s = kernel_threads_s.map(|kernel_s| (busy_s - ours_s - kernel_s).max(0.0));
        Usage {
            user_s,
            system_s,
            parent_s,
            kernel_threads_s,
            foreign_s,
            steal_s: steal_s(self.machine, now.machine),
            voluntary_switches: grown(self.own.ru_nvcsw, now.own.ru_nvcsw),
            involuntary_switches: grown(self.own.ru_nivcsw, now.own.ru_nivcsw),
            minor_faults: grown(self.own.ru_minflt, now.own.ru_minflt),
            major_faults: grown(self.own.ru_majflt, now.own.ru_majflt),
            peak_memory_bytes: proc::peak_memory_bytes().unwrap_or_default(),
            device: device_usage(self.device.as_ref(), now.device.as_ref()),
            pressure: pressure_grown(self.pressure.as_ref(), now.pressure.as_ref()),
        }
    }
}

/// CPU time of this process so far in user mode and in the kernel, ended threads included.
pub fn own_cpu() -> [Duration; 2] {
    let own = own_usage();
    [own.ru_utime, own.ru_stime].map(|time| Duration::from_secs_f64(seconds(time)))
}

fn own_usage() -> libc::rusage {
    usage_of(libc::RUSAGE_SELF)
}

fn usage_of(who: libc::c_int) -> libc::rusage {
    // SAFETY: getrusage fills the structure, for which all zeroes are valid, and cannot fail
    // for a known `who` and a valid pointer.
    unsafe {
        let mut usage: libc::rusage = mem::zeroed();
        libc::getrusage(who, &mut usage);
        usage
    }
}

fn seconds(time: libc::timeval) -> f64 {
    time.tv_sec as f64 + time.tv_usec as f64 / 1e6
}

fn grown(before: libc::c_long, now: libc::c_long) -> u64 {
    u64::try_from(now - before).unwrap_or_default()
}

/// CPU time between two looks at what has the same number; all of it if it is another process.
fn used_s(before: Process, now: Process) -> f64 {
    let base = if before.started_ticks == now.started_ticks {
        before.cpu_ticks
    } else {
        0
    };
    proc::ticks_to_s(now.cpu_ticks.saturating_sub(base))
}

/// Threads that ended meanwhile are lost; those that came are counted in full.
fn kernel_threads_s(before: &HashMap<u32, KernelThread>, now: &HashMap<u32, KernelThread>) -> f64 {
    let used_s = |(pid, thread): (&u32, &KernelThread)| {
        let same = before
            .get(pid)
            .filter(|before| before.identity == thread.identity);
        (thread.cpu_s - same.map_or(0.0, |before| before.cpu_s)).max(0.0)
    };
    now.iter().map(used_s).sum()
}

fn steal_s(before: Option<Machine>, now: Option<Machine>) -> Option<f64> {
    let ticks = now?.steal_ticks?.saturating_sub(before?.steal_ticks?);
    Some(proc::ticks_to_s(ticks))
}

fn device_usage(
    before: Option<&(Device, Counters)>,
    now: Option<&(Device, Counters)>,
) -> Option<wire::Device> {
    let ((_, before), (device, now)) = (before?, now?);
    let moved = now.since(*before);
    Some(wire::Device {
        name: device.name.clone(),
        read_bytes: moved.read_bytes,
        written_bytes: moved.written_bytes,
    })
}

fn pressure() -> Option<Pressure> {
    Some(Pressure {
        cpu_s: proc::pressure_some_s("cpu")?,
        io_s: proc::pressure_some_s("io")?,
        memory_s: proc::pressure_some_s("memory")?,
    })
}

fn pressure_grown(before: Option<&Pressure>, now: Option<&Pressure>) -> Option<Pressure> {
    let (before, now) = (before?, now?);
    Some(Pressure {
        cpu_s: now.cpu_s - before.cpu_s,
        io_s: now.io_s - before.io_s,
        memory_s: now.memory_s - before.memory_s,
    })
}

#[cfg(test)]
mod tests {
    use std::hint::black_box;

    use super::*;
    use crate::proc::Identity;

    #[test]
    fn our_own_work_is_ours_and_not_foreign() {
        let gauges = Gauges::read(None, true);
        let used_s = || seconds(own_usage().ru_utime) + seconds(own_usage().ru_stime);
        let until_s = used_s() + 0.03;
        while used_s() < until_s {
            black_box((0..1_000).sum::<u64>());
        }
        let usage = gauges.usage_until_now();
        assert!(usage.user_s + usage.system_s >= 0.02, "{usage:?}");
        assert!(usage.peak_memory_bytes > 100_000);
        assert!(usage.device.is_none());
    }

    #[test]
    fn others_are_counted_only_where_they_are_wanted() {
        let [without, with] = [false, true].map(|others| Gauges::read(None, others));
        let usage = without.usage_until_now();
        assert_eq!((usage.foreign_s, usage.kernel_threads_s), (None, None));
        let usage = with.usage_until_now();
        assert!(usage.foreign_s.is_some() && usage.kernel_threads_s.is_some());
    }

    #[test]
    fn the_work_of_programs_that_we_started_is_ours() {
        let gauges = Gauges::read(None, true);
        let count = "i=0; while [ $i -lt 50000 ]; do i=$((i+1)); done";
        let ended = std::process::Command::new("sh")
            .args(["-c", count])
            .status();
        assert!(ended.unwrap().success());
        let child = usage_of(libc::RUSAGE_CHILDREN).ru_utime;
        let usage = gauges.usage_until_now();
        assert!(
            usage.user_s + usage.system_s >= 0.9 * seconds(child),
            "{usage:?}"
        );
    }

    #[test]
    fn a_reused_number_is_another_process() {
        let of = |cpu_ticks, started_ticks| Process {
            parent: 1,
            children_ticks: 0,
            cpu_ticks,
            started_ticks,
            is_kernel_thread: true,
        };
        assert_eq!(used_s(of(50, 1), of(60, 1)), proc::ticks_to_s(10));
        assert_eq!(used_s(of(50, 1), of(7, 2)), proc::ticks_to_s(7));
        let of = |cpu_s, opening| KernelThread {
            cpu_s,
            identity: Identity::Opened(opening),
        };
        let before = HashMap::from([(1, of(50.0, 1)), (2, of(9.0, 1)), (4, of(8.0, 1))]);
        let now = HashMap::from([(1, of(55.0, 1)), (3, of(4.0, 8)), (4, of(2.0, 9))]);
        assert_eq!(kernel_threads_s(&before, &now), 5.0 + 4.0 + 2.0);
    }
}
