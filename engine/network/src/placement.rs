//! Where the threads of an end run, and whose memory they use.

use std::io;

use kit::failure::bad_parameter;
use kit::node::{self, cpus_of};
use kit::place::{self, Place};
use rustix::io::Errno;
use rustix::thread::{sched_getaffinity, sched_setaffinity, CpuSet};
use serde::{Deserialize, Serialize};
use serde_json::{json, Map, Value};
use wire::{ConditionsWanted, Failure};

use crate::failure::refused;
use crate::side;

/// What is asked for; nothing: where the scheduler, or the conditions of the job, put them.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Wanted {
    /// CPUs of the threads, in order.
    pub cpus: Vec<u32>,
    /// NUMA node whose CPUs and memory are used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub numa_node: Option<u32>,
    /// Who else is at work: where nothing else is said, the threads keep off the CPUs of a
    /// neighbour on this host, with whom they would otherwise share one now and then.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub neighbour: Option<Neighbour>,
}

/// The other end, as far as its place matters.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Neighbour {
    /// Its host; see [`side::host`].
    pub host: String,
    /// CPUs of its threads.
    pub cpus: Vec<u32>,
}

impl Neighbour {
    /// This end with so many threads, as a neighbour of the other one; nobody where they have no
    /// place.
    pub fn here(threads: u32) -> Option<Self> {
        let mut cpus = place::team_cpus();
        cpus.truncate(threads as usize);
        (!cpus.is_empty()).then(|| Self {
            host: side::host(),
            cpus,
        })
    }
}

/// Holds for this thread, and the teams that it starts, for as long as it lives.
pub struct Placement {
    _place: Place,
    has_policy: bool,
    /// Where this thread could run before.
    before: CpuSet,
}

impl Placement {
    /// Places the calling thread and the teams of up to `threads` that it will start; `None` when
    /// nothing is asked for. `end` is "client" or "server".
    ///
    /// # Errors
    /// `BadJob` for a CPU or node that is not here; `HostLacks` when the kernel refuses.
    pub fn take(end: &str, wanted: &Wanted, threads: u32) -> Result<Option<Self>, Failure> {
        let mut cpus = wanted.cpus.clone();
        if let Some(node) = wanted.numa_node {
            cpus = cpus_of(node).map_err(|error| no_node(end, node, &error))?;
        }
        let cannot = |error: Errno| refused("place threads on CPUs", &error.into());
        let before = sched_getaffinity(None).map_err(cannot)?;
        if let (true, Some(neighbour)) = (cpus.is_empty(), &wanted.neighbour) {
            if !neighbour.cpus.is_empty() && neighbour.host == side::host() {
                cpus = others(&before, &neighbour.cpus);
            }
        }
        if cpus.is_empty() {
            return Ok(None);
        }
        if !place::team_cpus().is_empty() {
            // The conditions of the job have pinned this thread; what is said here goes before
            // them.
            sched_setaffinity(None, &everywhere()).map_err(cannot)?;
        }
        let conditions = ConditionsWanted {
            cpus,
            ..ConditionsWanted::default()
        };
        let place = Place::take(&conditions, threads as usize).map_err(|mut failure| {
            failure.message = failure.message.replace("conditions.", &format!("{end}."));
            failure.parameter = failure.parameter.map(|_| format!("{end}.cpus"));
            failure
        })?;
        let mut placement = Self {
            _place: place,
            has_policy: false,
            before,
        };
        if let Some(node) = wanted.numa_node {
            node::prefer(Some(node))
                .map_err(|error| refused(format!("use the memory of NUMA node {node}"), &error))?;
            placement.has_policy = true;
        }
        Ok(Some(placement))
    }
}

impl Drop for Placement {
    fn drop(&mut self) {
        // What was granted before, and the default policy, are refused to nobody.
        let _ = sched_setaffinity(None, &self.before);
        if self.has_policy {
            let _ = node::prefer(None);
        }
    }
}

/// The CPUs of `allowed` without those to `avoid`, from the highest-numbered downwards.
fn others(allowed: &CpuSet, avoid: &[u32]) -> Vec<u32> {
    let allowed = (0..CpuSet::MAX_CPU).filter(|&cpu| allowed.is_set(cpu));
    let kept = allowed
        .map(|cpu| cpu as u32)
        .filter(|cpu| !avoid.contains(cpu));
    kept.rev().collect()
}

/// All CPUs; the kernel takes those that there are.
fn everywhere() -> CpuSet {
    let mut all = CpuSet::new();
    (0..CpuSet::MAX_CPU).for_each(|cpu| all.set(cpu));
    all
}

/// The placement of this thread's teams, as it was granted.
pub fn granted() -> Map<String, Value> {
    let mut granted = Map::new();
    let cpus = place::team_cpus();
    if !cpus.is_empty() {
        granted.insert("cpus".to_owned(), json!(cpus));
    }
    if let Some(node) = node::preferred() {
        granted.insert("numa_node".to_owned(), json!(node));
    }
    granted
}

fn no_node(end: &str, node: u32, error: &io::Error) -> Failure {
    let parameter = format!("{end}.numa_node");
    let message = format!(
        "parameter \"{parameter}\": that host has no CPUs on a NUMA node {node} ({error}); its \
         nodes are in /sys/devices/system/node"
    );
    bad_parameter(&parameter, message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use wire::FailureKind;

    #[test]
    fn the_cpus_of_the_other_end_are_kept_off() {
        let mut allowed = CpuSet::new();
        [0, 2, 5].into_iter().for_each(|cpu| allowed.set(cpu));
        assert_eq!(others(&allowed, &[5, 7]), [2, 0]);
        assert!(others(&allowed, &[0, 2, 5]).is_empty());
    }

    #[test]
    fn what_is_not_there_is_named() {
        let nowhere = Wanted {
            numa_node: Some(99_999),
            ..Wanted::default()
        };
        let failure = Placement::take("server", &nowhere, 1).err().unwrap();
        assert_eq!(failure.kind, FailureKind::BadJob);
        assert_eq!(failure.parameter.as_deref(), Some("server.numa_node"));
        let nowhere = Wanted {
            cpus: vec![99_999],
            ..Wanted::default()
        };
        let failure = Placement::take("client", &nowhere, 1).err().unwrap();
        assert_eq!(failure.parameter.as_deref(), Some("client.cpus"));
        assert!(
            failure.message.starts_with("client.cpus: CPU"),
            "{}",
            failure.message
        );
    }

    #[test]
    fn nothing_is_placed_that_nobody_asked_for() {
        assert!(Placement::take("server", &Wanted::default(), 1)
            .unwrap()
            .is_none());
        assert!(granted().is_empty());
    }

    /// In a thread of its own, since both last as long as the thread.
    #[test]
    fn a_node_is_granted_and_given_back() {
        let check = || {
            let Ok(cpus) = cpus_of(0) else {
                // A kernel without NUMA has no directory of nodes.
                assert!(!std::path::Path::new("/sys/devices/system/node/node0/cpulist").exists());
                return;
            };
            let first = Wanted {
                numa_node: Some(0),
                ..Wanted::default()
            };
            let placement = Placement::take("client", &first, 1).unwrap();
            let granted_now = granted();
            assert_eq!(granted_now["cpus"], json!([cpus[0]]));
            assert_eq!(granted_now["numa_node"], json!(0));
            drop(placement);
            assert!(granted().is_empty());
            let again = Wanted {
                cpus: cpus.clone(),
                ..Wanted::default()
            };
            Placement::take("client", &again, 1).expect("the thread may run where it could before");
        };
        std::thread::spawn(check).join().unwrap();
    }
}
