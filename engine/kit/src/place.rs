//! Where threads run. The measuring thread is pinned; the CPUs that do not measure can be kept
//! awake, because waking a halted virtual CPU may cost more than the I/O that is measured.

use std::cell::RefCell;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{mpsc, Arc};
use std::thread::{self, JoinHandle};

use rustix::thread::{sched_getaffinity, sched_setaffinity, CpuSet};
use wire::{Conditions, ConditionsWanted, Failure, FailureKind};

use crate::failure::{bad_parameter, failure};
use crate::node;

thread_local! {
    /// CPUs granted to the team of this, the measuring thread; it is itself pinned to the first.
    static TEAM_CPUS: RefCell<Vec<u32>> = const { RefCell::new(Vec::new()) };
}

/// CPUs that the threads of a team take in turn when this thread starts one; none when they are
/// left to the scheduler.
pub fn team_cpus() -> Vec<u32> {
    TEAM_CPUS.with_borrow(Clone::clone)
}

/// Holds the conditions for as long as it lives.
pub struct Place {
    /// What was granted.
    pub granted: Conditions,
    _spinners: Vec<Spinner>,
}

impl Place {
    /// Pins the calling thread, chooses CPUs for the teams of up to `threads` that it will start,
    /// and starts spinners on the others, as far as `wanted`.
    ///
    /// # Errors
    /// `BadJob` for a CPU that this process may not use; `HostLacks` when the kernel refuses.
    pub fn take(wanted: &ConditionsWanted, threads: usize) -> Result<Self, Failure> {
        let refused = |error: io::Error| {
            failure(
                FailureKind::HostLacks,
                format!("cannot place threads on CPUs: {error}"),
            )
        };
        let allowed = allowed_cpus().map_err(refused)?;
        let cpus = match wanted.numa {
            Some(node) if wanted.cpus.is_empty() => {
                choose(wanted, threads, &of_node(node, &allowed)?)?
            }
            _ => choose(wanted, threads, &allowed)?,
        };
        if wanted.numa.is_some() {
            // Where a sandbox forbids it, it is not granted, and the hello says so.
            let _ = node::prefer(wanted.numa);
        }
        if let Some(&cpu) = cpus.first() {
            pin_to(cpu).map_err(refused)?;
        }
        let spinners = if wanted.keep_awake {
            let others = allowed.into_iter().filter(|cpu| !cpus.contains(cpu));
            others
                .map(Spinner::start)
                .collect::<io::Result<Vec<_>>>()
                .map_err(refused)?
        } else {
            Vec::new()
        };
        TEAM_CPUS.set(cpus.clone());
        Ok(Self {
            granted: Conditions {
                numa: wanted.numa.and_then(|_| node::preferred()),
                awake: spinners.iter().map(|spinner| spinner.cpu).collect(),
                cpus,
                inject: wanted.inject.clone(),
            },
            _spinners: spinners,
        })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        TEAM_CPUS.take();
        if self.granted.numa.is_some() {
            // The default policy is refused to nobody.
            let _ = node::prefer(None);
        }
    }
}

/// The CPUs of the measuring threads, one for each as far as there are enough: those asked for,
/// else from the highest-numbered, which interrupts and daemons like least, downwards; none when
/// unpinned.
fn choose(wanted: &ConditionsWanted, threads: usize, allowed: &[u32]) -> Result<Vec<u32>, Failure> {
    if wanted.unpinned {
        return Ok(Vec::new());
    }
    if let Some(cpu) = wanted.cpus.iter().find(|cpu| !allowed.contains(cpu)) {
        return Err(bad_parameter(
            "conditions.cpus",
            format!("conditions.cpus: CPU {cpu} may not be used here; those that may: {allowed:?}"),
        ));
    }
    let mut cpus = wanted.cpus.clone();
    if cpus.is_empty() {
        cpus.extend(allowed.iter().rev());
    }
    cpus.truncate(threads.max(1));
    Ok(cpus)
}

/// The CPUs of a node that are `allowed`.
fn of_node(node: u32, allowed: &[u32]) -> Result<Vec<u32>, Failure> {
    let mut cpus = node::cpus_of(node).unwrap_or_default();
    cpus.retain(|cpu| allowed.contains(cpu));
    if cpus.is_empty() {
        let parameter = "conditions.numa";
        let message = format!(
            "{parameter}: NUMA node {node} has no CPU that may be used here; the nodes are in \
             /sys/devices/system/node"
        );
        return Err(bad_parameter(parameter, message));
    }
    Ok(cpus)
}

/// CPUs that this process may use, ascending.
///
/// # Errors
/// Those of sched_getaffinity(2).
pub fn allowed_cpus() -> io::Result<Vec<u32>> {
    let set = sched_getaffinity(None)?;
    Ok((0..CpuSet::MAX_CPU)
        .filter(|&cpu| set.is_set(cpu))
        .map(|cpu| cpu as u32)
        .collect())
}

/// Pins the calling thread to one CPU.
pub fn pin_to(cpu: u32) -> io::Result<()> {
    if cpu as usize >= CpuSet::MAX_CPU {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let mut set = CpuSet::new();
    set.set(cpu as usize);
    Ok(sched_setaffinity(None, &set)?)
}

/// Gives the calling thread a table of descriptors of its own: in a shared one, every system call
/// on a file counts its users. A sandbox may forbid it; the calls then take that longer. What the
/// thread opens from now on is known to it alone.
pub fn unshare_descriptors() {
    // SAFETY: a plain system call; what was open before stays open under the same number.
    let _ = unsafe { libc::unshare(libc::CLONE_FILES) };
}

/// A thread of idle priority that keeps one CPU from halting; it gives way to anything else.
struct Spinner {
    cpu: u32,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Spinner {
    /// Starts spinning, and returns when it does.
    fn start(cpu: u32) -> io::Result<Self> {
        let stop = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&stop);
        let (tell, told) = mpsc::channel();
        let thread = thread::Builder::new()
            .name(format!("awake-{cpu}"))
            .spawn(move || {
                let placed = pin_to(cpu).and_then(|()| lower_to_idle());
                // At normal priority it would do harm, so that it spins only if both worked.
                let spins = placed.is_ok();
                if tell.send(placed).is_ok() && spins {
                    while !seen.load(Ordering::Relaxed) {
                        std::hint::spin_loop();
                    }
                }
            })?;
        told.recv().map_err(io::Error::other)??;
        Ok(Self {
            cpu,
            stop,
            thread: Some(thread),
        })
    }
}

impl Drop for Spinner {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // Only a panic could be reported here, and the loop has none.
            let _ = thread.join();
        }
    }
}

fn lower_to_idle() -> io::Result<()> {
    let parameters = libc::sched_param { sched_priority: 0 };
    // SAFETY: plain system call on the calling thread.
    match unsafe { libc::sched_setscheduler(0, libc::SCHED_IDLE, &parameters) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wanted(cpus: &[u32]) -> ConditionsWanted {
        ConditionsWanted {
            cpus: cpus.to_vec(),
            ..ConditionsWanted::default()
        }
    }

    #[test]
    fn the_highest_cpus_are_taken_unless_others_are_asked_for() {
        let allowed = [0, 2, 5];
        assert_eq!(choose(&wanted(&[]), 1, &allowed).unwrap(), [5]);
        assert_eq!(choose(&wanted(&[]), 2, &allowed).unwrap(), [5, 2]);
        assert_eq!(choose(&wanted(&[]), 9, &allowed).unwrap(), [5, 2, 0]);
        assert_eq!(choose(&wanted(&[2, 0]), 1, &allowed).unwrap(), [2]);
        assert_eq!(choose(&wanted(&[2, 0]), 9, &allowed).unwrap(), [2, 0]);
        let failure = choose(&wanted(&[2, 7]), 1, &[0, 2]).unwrap_err();
        assert!(failure.message.contains("CPU 7"), "{}", failure.message);
        let unpinned = ConditionsWanted {
            unpinned: true,
            ..wanted(&[0])
        };
        assert!(choose(&unpinned, 1, &[0, 2]).unwrap().is_empty());
    }

    /// In a separate thread, since both last as long as the thread.
    #[test]
    fn a_node_is_granted_and_given_back() {
        let check = || {
            let on = |numa| ConditionsWanted {
                numa: Some(numa),
                ..ConditionsWanted::default()
            };
            let failure = Place::take(&on(99_999), 1).err().unwrap();
            assert_eq!(failure.parameter.as_deref(), Some("conditions.numa"));
            let Ok(cpus) = node::cpus_of(0) else {
                // A kernel without NUMA has no directory of nodes.
                assert!(!std::path::Path::new("/sys/devices/system/node/node0/cpulist").exists());
                return;
            };
            let place = Place::take(&on(0), 1).unwrap();
            assert_eq!(place.granted.numa, node::preferred());
            assert!(cpus.contains(&place.granted.cpus[0]));
            drop(place);
            assert_eq!(node::preferred(), None);
        };
        thread::spawn(check).join().unwrap();
    }

    /// In a separate thread, since pinning lasts as long as the thread.
    #[test]
    fn what_is_granted_is_what_the_kernel_says() {
        let check = || {
            let before = allowed_cpus().unwrap();
            let wanted = ConditionsWanted {
                keep_awake: true,
                ..ConditionsWanted::default()
            };
            let place = Place::take(&wanted, 1).unwrap();
            assert_eq!(allowed_cpus().unwrap(), place.granted.cpus);
            assert_eq!(place.granted.awake.len(), before.len() - 1);
            assert_eq!(team_cpus(), place.granted.cpus);
            drop(place);
            assert!(team_cpus().is_empty());
        };
        thread::spawn(check).join().unwrap();
    }
}
