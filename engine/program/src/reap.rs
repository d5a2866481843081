//! Ended processes, and what the kernel counted for them.

use std::fs;
use std::io;
use std::mem;
use std::path::Path;
use std::sync::OnceLock;

use libc::{c_int, pid_t};

/// getrusage(2) counts in these.
const SECTOR_BYTES: u64 = 512;

/// How a process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    Exit(i32),
    Signal { number: c_int, dumped: bool },
}

/// What ended processes used, with those that they had waited for.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Used {
    pub user_s: f64,
    pub system_s: f64,
    pub peak_memory_bytes: u64,
    pub minor_faults: u64,
    pub major_faults: u64,
    pub voluntary_switches: u64,
    pub involuntary_switches: u64,
    /// Bytes from and to devices; `None` where the kernel does not count them.
    pub moved_bytes: Option<[u64; 2]>,
}

impl Used {
    pub fn add(&mut self, other: &Self) {
        self.user_s += other.user_s;
        self.system_s += other.system_s;
        self.peak_memory_bytes = self.peak_memory_bytes.max(other.peak_memory_bytes);
        self.minor_faults += other.minor_faults;
        self.major_faults += other.major_faults;
        self.voluntary_switches += other.voluntary_switches;
        self.involuntary_switches += other.involuntary_switches;
        let both = self.moved_bytes.zip(other.moved_bytes);
        self.moved_bytes = both.map(|([a, b], [c, d])| [a + c, b + d]);
    }

    /// CPU time in user mode and in the kernel beyond that of another one, which is a part of it.
    ///
    /// Most kernels know the sum to the nanosecond and how it is split by clock ticks only: what
    /// one of the two lacks is taken from the other, so that the sum stays right.
    pub fn cpu_less(&self, part: &Self) -> [f64; 2] {
        let [user_s, system_s] = [self.user_s - part.user_s, self.system_s - part.system_s];
        [
            (user_s + system_s.min(0.0)).max(0.0),
            (system_s + user_s.min(0.0)).max(0.0),
        ]
    }
}

/// Takes leave of a child that has ended.
///
/// # Errors
/// It is no child, or has not ended.
pub fn reap(pid: pid_t) -> io::Result<(Ended, Used)> {
    let mut status = 0;
    // SAFETY: an all-zero rusage is valid; the kernel fills both.
    let (reaped, usage) = unsafe {
        let mut usage: libc::rusage = mem::zeroed();
        let reaped = libc::wait4(pid, &raw mut status, libc::WNOHANG, &raw mut usage);
        (reaped, usage)
    };
    if reaped != pid {
        return Err(io::Error::last_os_error());
    }
    let ended = match libc::WIFSIGNALED(status) {
        true => Ended::Signal {
            number: libc::WTERMSIG(status),
            dumped: libc::WCOREDUMP(status),
        },
        false => Ended::Exit(libc::WEXITSTATUS(status)),
    };
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
    let count = |number: libc::c_long| u64::try_from(number).unwrap_or_default();
    let used = Used {
        user_s: seconds(usage.ru_utime),
        system_s: seconds(usage.ru_stime),
        peak_memory_bytes: count(usage.ru_maxrss) * 1_024,
        minor_faults: count(usage.ru_minflt),
        major_faults: count(usage.ru_majflt),
        voluntary_switches: count(usage.ru_nvcsw),
        involuntary_switches: count(usage.ru_nivcsw),
        // ru_inblock and ru_oublock are read_bytes and write_bytes of /proc/PID/io, in sectors.
        moved_bytes: moves_are_counted().then(|| {
            [usage.ru_inblock, usage.ru_oublock].map(|blocks| count(blocks) * SECTOR_BYTES)
        }),
    };
    Ok((ended, used))
}

/// A child that has ended and was not waited for; `None` when there is none now.
pub fn next_ended() -> Option<pid_t> {
    // SAFETY: an all-zero siginfo is valid; the kernel fills it.
    let (status, pid) = unsafe {
        let mut info: libc::siginfo_t = mem::zeroed();
        let options = libc::WEXITED | libc::WNOHANG | libc::WNOWAIT;
        let status = libc::waitid(libc::P_ALL, 0, &raw mut info, options);
        (status, info.si_pid())
    };
    (status == 0 && pid > 0).then_some(pid)
}

/// Whether this process is the parent of what its children leave behind.
pub fn is_subreaper() -> bool {
    let mut is_one: libc::c_int = 0;
    // SAFETY: the kernel writes one number there; kernels before 3.4 refuse.
    unsafe { libc::prctl(libc::PR_GET_CHILD_SUBREAPER, &raw mut is_one, 0, 0, 0) };
    is_one != 0
}

/// Makes this process the parent of what its children leave behind.
pub fn become_subreaper(wanted: bool) {
    // SAFETY: no memory is passed; kernels before 3.4 refuse.
    unsafe {
        libc::prctl(
            libc::PR_SET_CHILD_SUBREAPER,
            libc::c_ulong::from(wanted),
            0,
            0,
            0,
        )
    };
}

/// Living processes that descend from this one, without those of `except` and below.
pub fn descendants(except: &[pid_t]) -> Vec<pid_t> {
    let mut found: Vec<pid_t> = children_of("self");
    found.retain(|pid| !except.contains(pid));
    let mut next = 0;
    while let Some(pid) = found.get(next) {
        let children = children_of(&pid.to_string());
        found.extend(children);
        next += 1;
    }
    found.retain(|pid| !has_ended(*pid));
    found
}

/// Those of them that are this process's own children.
pub fn children() -> Vec<pid_t> {
    let mut found = children_of("self");
    found.retain(|pid| !has_ended(*pid));
    found
}

fn children_of(process: &str) -> Vec<pid_t> {
    let tasks = fs::read_dir(format!("/proc/{process}/task"));
    let tasks = tasks.into_iter().flatten().flatten();
    let lists = tasks.filter_map(|task| fs::read_to_string(task.path().join("children")).ok());
    let parse = |list: String| -> Vec<pid_t> {
        list.split_ascii_whitespace()
            .filter_map(|pid| pid.parse().ok())
            .collect()
    };
    lists.flat_map(parse).collect()
}

/// Whether a process is no more, but for its number.
pub fn has_ended(pid: pid_t) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let state = stat.rsplit_once(") ").map(|(_, rest)| rest.chars().next());
    matches!(state, None | Some(None | Some('Z' | 'X')))
}

/// Whether the kernel counts what processes move (CONFIG_TASK_IO_ACCOUNTING).
fn moves_are_counted() -> bool {
    static COUNTED: OnceLock<bool> = OnceLock::new();
    *COUNTED.get_or_init(|| Path::new("/proc/self/io").exists())
}

#[cfg(test)]
mod tests {
    use super::Used;

    #[test]
    fn what_a_part_takes_is_taken_of_the_sum() {
        let used = |user_s: f64, system_s: f64| Used {
            user_s,
            system_s,
            ..Used::default()
        };
        let whole = used(0.0, 4.0);
        assert_eq!(used(3.0, 4.0).cpu_less(&used(1.0, 2.0)), [2.0, 2.0]);
        assert_eq!(whole.cpu_less(&used(1.0, 1.0)), [0.0, 2.0]);
        assert_eq!(used(4.0, 0.0).cpu_less(&used(1.0, 1.0)), [2.0, 0.0]);
        assert_eq!(used(0.5, 0.5).cpu_less(&used(1.0, 1.0)), [0.0, 0.0]);
    }
}
