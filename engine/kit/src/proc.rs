//! Numbers that `/proc` publishes as text.

use std::collections::{BTreeMap, HashMap};
use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

use rustix::param::clock_ticks_per_second;
use rustix::process::{getppid, Pid};

/// The flag that marks a kernel thread in field 9 of `/proc/PID/stat`.
const PF_KTHREAD: u64 = 0x0020_0000;

/// The first kernel thread. In a container the number is somebody else's, and kernel threads are
/// not to be seen at all.
const KTHREADD: u32 = 2;

/// More than the 52 numbers and the name in `/proc/PID/stat` can take: 21 × 52 + 64 bytes.
const STAT_BYTES: usize = 2_048;

/// What `/proc/PID/stat` says of one process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Process {
    /// Who has started it, or has taken it over.
    pub parent: u32,
    /// CPU time in user mode and in the kernel, in clock ticks.
    pub cpu_ticks: u64,
    /// That of its children that have ended and were waited for, and of theirs.
    pub children_ticks: u64,
    /// When it started, in ticks since boot: tells it from a later process of the same number.
    pub started_ticks: u64,
    /// Whether it is a thread of the kernel.
    pub is_kernel_thread: bool,
}

static STARTER: OnceLock<Option<Pid>> = OnceLock::new();

/// Remembers who started this process, where its parent only stands in between.
pub fn set_starter(starter: Option<Pid>) {
    let _ = STARTER.set(starter);
}

/// Who started this process.
pub fn starter() -> Option<Pid> {
    STARTER.get().copied().unwrap_or_else(getppid)
}

/// Seconds for `ticks` of the unit in which `/proc` counts CPU time.
pub fn ticks_to_s(ticks: u64) -> f64 {
    ticks as f64 / clock_ticks_per_second() as f64
}

/// The process `pid`; `None` when it has gone.
pub fn process(pid: Pid) -> Option<Process> {
    process_at(pid.as_raw_nonzero().get() as u32)
}

/// Some processes and all that they have started, by number, as far as what is between them lives.
///
/// Each is asked for its children, so that the processes of others cost nothing; where the kernel
/// does not list them all processes are read.
pub fn family(roots: &[u32]) -> HashMap<u32, Process> {
    let mut found = HashMap::new();
    let mut fresh: Vec<u32> = roots.to_vec();
    while let Some(pid) = fresh.pop() {
        if found.contains_key(&pid) {
            continue;
        }
        let Some(process) = process_at(pid) else {
            continue;
        };
        found.insert(pid, process);
        match children(pid) {
            Ok(children) => fresh.extend(children),
            Err(_) => return family_among(roots, &all()),
        }
    }
    found
}

/// All processes, threads of the kernel among them, by number.
fn all() -> HashMap<u32, Process> {
    let pids = all_pids().into_iter();
    pids.filter_map(|pid| Some((pid, process_at(pid)?)))
        .collect()
}

fn family_among(roots: &[u32], all: &HashMap<u32, Process>) -> HashMap<u32, Process> {
    let mut children: HashMap<u32, Vec<u32>> = HashMap::new();
    for (pid, process) in all {
        children.entry(process.parent).or_default().push(*pid);
    }
    let mut found = HashMap::new();
    let mut fresh: Vec<u32> = roots.to_vec();
    while let Some(pid) = fresh.pop() {
        let Some(process) = all.get(&pid) else {
            continue;
        };
        if found.insert(pid, *process).is_none() {
            fresh.extend(children.get(&pid).into_iter().flatten());
        }
    }
    found
}

/// What the threads of a process have started, and has not ended or waits to be reaped.
///
/// # Errors
/// The kernel does not list them (`CONFIG_PROC_CHILDREN`). Of a process that has gone there are none.
fn children(pid: u32) -> io::Result<Vec<u32>> {
    let Ok(threads) = fs::read_dir(format!("/proc/{pid}/task")) else {
        return Ok(Vec::new());
    };
    let mut found = Vec::new();
    for thread in threads.flatten() {
        match fs::read_to_string(thread.path().join("children")) {
            Ok(text) => found.extend(text.split_ascii_whitespace().flat_map(str::parse::<u32>)),
            Err(error) if error.kind() == ErrorKind::NotFound && thread.path().exists() => {
                return Err(error);
            }
            Err(_) => {}
        }
    }
    Ok(found)
}

/// The threads of the kernel by number.
pub fn kernel_processes() -> HashMap<u32, Process> {
    let pids = kernel_pids().unwrap_or_else(all_pids).into_iter();
    pids.filter_map(|pid| Some((pid, process_at(pid)?)))
        .filter(|(_, process)| process.is_kernel_thread)
        .collect()
}

/// What the kernel says of one of its threads.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct KernelThread {
    /// CPU time, in seconds.
    pub cpu_s: f64,
    /// Tells it from a later thread of the same number.
    pub identity: Identity,
}

/// Which of the threads that had one number, one after the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Identity {
    /// That of a file that stays open, by the number of the opening.
    Opened(u64),
    /// The one that started then, in ticks since boot.
    Started(u64),
}

/// All kernel threads by number, as far as this process can see them.
///
/// There are dozens to read, before and after every trial. To open a file costs more than to read
/// it, and `/proc/PID/stat` more than `/proc/PID/schedstat`, which has the CPU time in nanoseconds:
/// those of the first threads stay open, also in a fork of this process.
pub fn kernel_threads() -> HashMap<u32, KernelThread> {
    let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
    let listed = kernel_pids();
    let are_of_kernel = listed.is_some();
    let threads: HashMap<_, _> = listed
        .unwrap_or_else(all_pids)
        .into_iter()
        .filter_map(|pid| Some((pid, thread_of(pid, are_of_kernel, &mut open)?)))
        .collect();
    open.retain(|pid, _| threads.contains_key(pid));
    threads
}

/// A kernel thread's `schedstat`, and the number of the opening.
type Opened = (File, u64);

static OPEN: Mutex<BTreeMap<u32, Opened>> = Mutex::new(BTreeMap::new());
static OPENINGS: AtomicU64 = AtomicU64::new(0);

/// A process may open a thousand files by default; most are left to the workload.
const MOST_OPEN: usize = 128;

/// A kernel thread, `None` for any other process; where the kernel has listed it, nothing more is
/// asked. The file of one that has ended gives an error, also where its number is given again.
fn thread_of(
    pid: u32,
    is_of_kernel: bool,
    open: &mut BTreeMap<u32, Opened>,
) -> Option<KernelThread> {
    let of_file = |(file, opening): &Opened| {
        Some(KernelThread {
            cpu_s: cpu_s(file)?,
            identity: Identity::Opened(*opening),
        })
    };
    if let Some(thread) = open.get(&pid).and_then(of_file) {
        return Some(thread);
    }
    open.remove(&pid);
    let process = || process_at(pid).filter(|process| process.is_kernel_thread);
    let known = if is_of_kernel { None } else { Some(process()?) };
    if open.len() < MOST_OPEN {
        if let Ok(file) = File::open(format!("/proc/{pid}/schedstat")) {
            let opened = (file, OPENINGS.fetch_add(1, Ordering::Relaxed));
            if let Some(thread) = of_file(&opened) {
                open.insert(pid, opened);
                return Some(thread);
            }
        }
    }
    let process = known.or_else(process)?;
    Some(KernelThread {
        cpu_s: ticks_to_s(process.cpu_ticks),
        identity: Identity::Started(process.started_ticks),
    })
}

/// The first number of `schedstat`, which is three zeroes where the kernel does not count.
fn cpu_s(schedstat: &File) -> Option<f64> {
    let mut line = [0; STAT_BYTES];
    let length = schedstat.read_at(&mut line, 0).ok()?;
    let text = str::from_utf8(&line[..length]).ok()?;
    let nanoseconds: u64 = text.split_ascii_whitespace().next()?.parse().ok()?;
    (text != "0 0 0\n").then_some(nanoseconds as f64 / 1e9)
}

/// The one that starts all others, and those; `None` where the kernel does not list them.
fn kernel_pids() -> Option<Vec<u32>> {
    let started = fs::read_to_string(format!("/proc/{KTHREADD}/task/{KTHREADD}/children")).ok()?;
    let started = started
        .split_ascii_whitespace()
        .map_while(|pid| pid.parse().ok());
    Some([KTHREADD].into_iter().chain(started).collect())
}

/// The numbers of all processes.
pub fn all_pids() -> Vec<u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten();
    entries
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .collect()
}

/// The process of that number; `None` when it has gone.
pub fn process_at(pid: u32) -> Option<Process> {
    // One read into a buffer that a line always fits into.
    let mut line = [0; STAT_BYTES];
    let stat = File::open(format!("/proc/{pid}/stat")).ok()?;
    let length = stat.read_at(&mut line, 0).ok()?;
    parse_process(&String::from_utf8_lossy(&line[..length]))
}

/// The name, field 2, is in parentheses and may contain anything, so the rest starts after the
/// last one; field N of proc_pid_stat(5) is then number N - 3.
fn parse_process(stat: &str) -> Option<Process> {
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_ascii_whitespace().collect();
    let number = |field: usize| fields.get(field - 3)?.parse::<u64>().ok();
    Some(Process {
        parent: number(4)? as u32,
        cpu_ticks: number(14)? + number(15)?,
        children_ticks: number(16)? + number(17)?,
        started_ticks: number(22)?,
        is_kernel_thread: number(9)? & PF_KTHREAD != 0,
    })
}

/// CPU time of the whole machine or of one CPU, in clock ticks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Machine {
    /// Time in processes: user, nice and system. Time in interrupts belongs to no process.
    pub busy_ticks: u64,
    /// Time that the hypervisor gave to others, as far as it admits.
    pub steal_ticks: Option<u64>,
}

/// The machine's CPU time now; `None` where `/proc/stat` cannot be read.
pub fn machine() -> Option<Machine> {
    parse_machine(&fs::read_to_string("/proc/stat").ok()?)
}

/// The CPU time of each CPU that is online; empty where `/proc/stat` cannot be read.
pub fn cpus() -> BTreeMap<u32, Machine> {
    parse_cpus(&fs::read_to_string("/proc/stat").unwrap_or_default())
}

fn parse_cpus(stat: &str) -> BTreeMap<u32, Machine> {
    let lines = stat.lines().filter_map(|line| line.strip_prefix("cpu"));
    lines
        .filter_map(|line| {
            let (number, ticks) = line.split_once(' ')?;
            Some((number.parse().ok()?, parse_ticks(ticks)?))
        })
        .collect()
}

/// First line: `cpu user nice system idle iowait irq softirq steal …`.
fn parse_machine(stat: &str) -> Option<Machine> {
    parse_ticks(stat.lines().next()?.strip_prefix("cpu ")?)
}

fn parse_ticks(line: &str) -> Option<Machine> {
    let ticks: Vec<u64> = line
        .split_ascii_whitespace()
        .map_while(|field| field.parse().ok())
        .collect();
    Some(Machine {
        busy_ticks: ticks.get(..3)?.iter().sum(),
        steal_ticks: ticks.get(7).copied(),
    })
}

/// Time in which some task waited for `resource` (cpu, io, memory), in seconds since boot;
/// `None` where the kernel keeps no pressure information.
pub fn pressure_some_s(resource: &str) -> Option<f64> {
    parse_pressure(&fs::read_to_string(format!("/proc/pressure/{resource}")).ok()?)
}

/// Time in which some task waited, of the text of a file of pressure, in seconds.
pub fn parse_pressure(text: &str) -> Option<f64> {
    let some = text.lines().find_map(|line| line.strip_prefix("some "))?;
    let total_us: u64 = some.rsplit_once("total=")?.1.trim().parse().ok()?;
    Some(total_us as f64 / 1e6)
}

/// Memory of the whole machine, in bytes; `None` where `/proc/meminfo` cannot be read.
pub fn machine_memory_bytes() -> Option<u64> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    parse_kib(&text, "MemTotal:")
}

/// Largest resident memory of this process so far, in bytes. (`ru_maxrss` would also count what
/// the process was before exec.)
pub fn peak_memory_bytes() -> Option<u64> {
    parse_kib(&fs::read_to_string("/proc/self/status").ok()?, "VmHWM:")
}

/// Bytes that this process, with the children it has waited for, had fetched from block devices
/// so far, reading ahead included; `None` where the kernel does not count them.
pub fn fetched_bytes() -> Option<u64> {
    parse_fetched(&fs::read_to_string("/proc/self/io").ok()?)
}

fn parse_fetched(io: &str) -> Option<u64> {
    let line = io
        .lines()
        .find_map(|line| line.strip_prefix("read_bytes:"))?;
    line.trim().parse().ok()
}

/// The bytes of a line `name 123 kB`.
fn parse_kib(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    Some(line.trim().strip_suffix(" kB")?.parse::<u64>().ok()? * 1_024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_may_contain_blanks_and_parentheses() {
        let stat = "42 (a) b) S 1 42 42 0 -1 2129984 0 0 0 0 7 5 3 4 20 0 1 0 99 0 0";
        assert_eq!(
            parse_process(stat),
            Some(Process {
                parent: 1,
                cpu_ticks: 12,
                children_ticks: 7,
                started_ticks: 99,
                is_kernel_thread: true
            })
        );
        assert_eq!(parse_process("42 (a) S 1"), None);
    }

    #[test]
    fn busy_is_time_in_processes() {
        let stat = "cpu  10 20 30 1000 500 7 8 9 0 0\ncpu0 1 2 3 4 5 6 7 8\n";
        assert_eq!(
            parse_machine(stat),
            Some(Machine {
                busy_ticks: 60,
                steal_ticks: Some(9)
            })
        );
        let first = Machine {
            busy_ticks: 6,
            steal_ticks: Some(8),
        };
        assert_eq!(parse_cpus(stat), BTreeMap::from([(0, first)]));
    }

    #[test]
    fn a_family_is_who_was_started_by_it_either_way_it_is_read() {
        let own = std::process::id();
        let mut shell = std::process::Command::new("sh")
            .args(["-c", "sleep 60 & wait"])
            .stdin(std::process::Stdio::null())
            .spawn()
            .unwrap();
        let below = |family: &HashMap<u32, Process>| {
            let of_shell = |one: &&Process| one.parent == shell.id();
            family.values().filter(of_shell).count()
        };
        while below(&family(&[own])) == 0 {
            std::thread::yield_now();
        }
        let listed = family(&[shell.id()]);
        assert_eq!(listed.len(), 2);
        assert_eq!(below(&family(&[own, own])), 1);
        let mut pids: Vec<u32> = family_among(&[shell.id()], &all()).into_keys().collect();
        pids.sort_unstable();
        let mut same: Vec<u32> = listed.keys().copied().collect();
        same.sort_unstable();
        assert_eq!(pids, same);
        assert!(!listed.contains_key(&own) && !listed.values().any(|one| one.is_kernel_thread));
        for pid in same.iter().rev() {
            let _ = rustix::process::kill_process(
                Pid::from_raw(*pid as i32).unwrap(),
                rustix::process::Signal::KILL,
            );
        }
        shell.wait().unwrap();
        assert!(family(&[shell.id()]).is_empty());
    }

    #[test]
    fn pressure_and_peak_have_units() {
        let text = "some avg10=0.00 avg60=0.00 avg300=0.00 total=2500000\nfull avg10=0 total=1\n";
        assert_eq!(parse_pressure(text), Some(2.5));
        assert_eq!(
            parse_kib("VmPeak:\t 9 kB\nVmHWM:\t    2 kB\n", "VmHWM:"),
            Some(2_048)
        );
    }

    #[test]
    fn what_was_fetched_is_told_from_what_was_read() {
        assert_eq!(parse_fetched("rchar: 7\nread_bytes: 4096\n"), Some(4_096));
        assert_eq!(parse_fetched("rchar: 7\n"), None);
    }

    #[test]
    fn the_file_of_a_thread_that_has_ended_is_given_up() {
        let mut child = std::process::Command::new("sleep")
            .arg("60")
            .spawn()
            .unwrap();
        let file = File::open(format!("/proc/{}/schedstat", child.id())).unwrap();
        // One that has not been off its CPU yet has no time.
        while cpu_s(&file).is_none_or(|used_s| used_s == 0.0) {
            std::thread::yield_now();
        }
        let mut open = BTreeMap::from([(child.id(), (file, 7))]);
        let known = thread_of(child.id(), false, &mut open).unwrap();
        assert!(known.cpu_s > 0.0 && known.identity == Identity::Opened(7));
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(thread_of(child.id(), false, &mut open), None);
        assert_eq!(thread_of(child.id(), true, &mut open), None);
        assert!(open.is_empty());
    }

    #[test]
    fn kernel_threads_are_read_by_files_that_stay_open() {
        let threads = kernel_threads();
        let kept: Vec<u32> = OPEN.lock().unwrap().keys().copied().collect();
        assert!(kept.len() <= MOST_OPEN);
        let counts = |pid: &u32| cpu_s(&File::open(format!("/proc/{pid}/schedstat")).ok()?);
        assert_eq!(kept.is_empty(), threads.keys().find_map(counts).is_none());
        for (pid, thread) in kernel_threads() {
            let before = threads
                .get(&pid)
                .filter(|one| one.identity == thread.identity);
            assert!(before.is_none_or(|before| before.cpu_s <= thread.cpu_s));
            let told = process_at(pid).map(|process| ticks_to_s(process.cpu_ticks));
            assert!(
                told.is_none_or(|told_s| told_s >= 0.9 * thread.cpu_s - 0.1),
                "{pid}: {thread:?}"
            );
        }
        let others = kept.iter().filter_map(|pid| process_at(*pid));
        assert!(others.into_iter().all(|process| process.is_kernel_thread));
    }

    #[test]
    fn this_process_is_not_of_the_kernel() {
        let own = process(rustix::process::getpid()).unwrap();
        assert!(!own.is_kernel_thread);
        assert!(own.started_ticks > 0);
        assert!(kernel_processes().values().all(|one| one.is_kernel_thread));
        assert!(!cpus().is_empty());
        assert!(machine().unwrap().busy_ticks > 0);
        assert!(peak_memory_bytes().unwrap() > 0);
        assert!(machine_memory_bytes() > peak_memory_bytes());
    }
}
