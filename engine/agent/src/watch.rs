//! Watching a host while something runs: its counters, read before and after.
//!
//! What belongs to us is never asked of the whole host: it is the lab and whatever it has started,
//! so that a host with a thousand processes takes no longer to read than one with a hundred.

mod disk;
mod external;
mod groups;
mod kernel;
mod processor;

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

use kit::{clock, proc};
use wire::{HostDone, HostFailure, HostFailureKind, HostSeen, HostWatch, HostWatchBegin, HostWho};

use crate::command::failure;
use disk::Disk;
use external::External;
pub use groups::files_of_ours;
use groups::Quotas;
use kernel::Log;
use processor::{Frequency, Sensors};

/// So many at a time: one for each trial that runs here.
const MOST: usize = 64;

/// The watches of a host.
#[derive(Default)]
pub struct Watches {
    open: HashMap<u64, Watch>,
    /// They come and go with their devices, and are found once.
    sensors: Option<Sensors>,
}

impl Watches {
    /// Does what is asked by the request of that number.
    ///
    /// # Errors
    /// There is no such watch, or are too many.
    pub fn answer(&mut self, id: u64, asked: HostWatch) -> Result<HostDone, HostFailure> {
        let seen = match asked {
            HostWatch::Begin(begin) => {
                if self.open.len() >= MOST {
                    return Err(failure(
                        HostFailureKind::Limit,
                        format!("{MOST} watches are open"),
                    ));
                }
                let root = Root::default();
                let sensors = self.sensors.get_or_insert_with(|| Sensors::find(&root));
                self.open.insert(id, Watch::begin(begin, sensors, root));
                HostSeen::default()
            }
            HostWatch::Tell(tell) => {
                let watch = self.open.get_mut(&tell.of).ok_or_else(|| none(tell.of))?;
                let sensors = self.sensors.as_ref().ok_or_else(|| none(tell.of))?;
                watch.tell(&tell.who, tell.cpus.as_deref(), sensors)
            }
            HostWatch::Last(tell) => {
                let mut watch = self.open.remove(&tell.of).ok_or_else(|| none(tell.of))?;
                let sensors = self.sensors.as_ref().ok_or_else(|| none(tell.of))?;
                watch.tell(&tell.who, tell.cpus.as_deref(), sensors)
            }
            HostWatch::End(of) => {
                self.open.remove(&of).ok_or_else(|| none(of))?;
                HostSeen::default()
            }
        };
        Ok(HostDone::Watch(Box::new(seen)))
    }
}

/// A trial of the process that is to count, from one look at its host to the other.
///
/// Nothing of it is left afterwards: what that process forks next has none of it.
pub struct Bracket {
    watch: Watch,
    sensors: Sensors,
    who: HostWho,
}

impl Bracket {
    /// The first look.
    pub fn begin(asked: HostWatchBegin) -> Self {
        let (who, root) = (asked.who.clone(), Root::default());
        let sensors = Sensors::find(&root);
        Self {
            watch: Watch::begin(asked, &sensors, root),
            sensors,
            who,
        }
    }

    /// The second one. Only who carries the trial out knows which CPUs measure.
    pub fn end(mut self) -> HostSeen {
        self.watch.tell(&self.who, None, &self.sensors)
    }
}

fn none(of: u64) -> HostFailure {
    failure(
        HostFailureKind::Request,
        format!("there is no watch number {of}"),
    )
}

/// Where the files of a host are.
struct Root(PathBuf);

impl Default for Root {
    fn default() -> Self {
        Self("/".into())
    }
}

impl Root {
    /// A path below it.
    fn at(&self, path: &str) -> PathBuf {
        self.0.join(path.trim_start_matches('/'))
    }
}

/// Ours and the servers', by number.
struct Who {
    ours: HashMap<u32, proc::Process>,
    servers: HashMap<u32, proc::Process>,
    /// Those that were named; the rest of ours are below them.
    named: Vec<u32>,
}

impl Who {
    fn read(asked: &HostWho) -> Self {
        let with_programs = |pids: &[u32], programs: &[String]| {
            proc::family(&[pids, &executing(programs)].concat())
        };
        let ours = [&asked.ours[..], &[std::process::id()]].concat();
        Self {
            ours: with_programs(&ours, &asked.programs),
            servers: with_programs(&asked.servers, &asked.serving),
            named: asked.ours.clone(),
        }
    }

    fn pids(&self) -> impl Iterator<Item = u32> + '_ {
        self.ours.keys().chain(self.servers.keys()).copied()
    }
}

/// Who executes one of these programs, whose files may be gone; not this process.
fn executing(programs: &[String]) -> Vec<u32> {
    let file = |path: &str| {
        let found = fs::metadata(path).ok()?;
        Some((found.dev(), found.ino()))
    };
    let files: Vec<_> = programs.iter().filter_map(|path| file(path)).collect();
    if files.is_empty() {
        return Vec::new();
    }
    let mut pids = proc::all_pids();
    pids.retain(|pid| {
        *pid != std::process::id()
            && file(&format!("/proc/{pid}/exe")).is_some_and(|own| files.contains(&own))
    });
    pids
}

struct Watch {
    root: Root,
    /// Whether it has servers: else their time is not available.
    is_served: bool,
    external: External,
    disk: Option<Disk>,
    quotas: Quotas,
    frequency: Frequency,
    log: Log,
    before: Look,
}

/// What is a difference between two of it.
struct Look {
    at_ns: u64,
    ahead_ns: i64,
    servers_ticks: u64,
    temperatures_c: BTreeMap<String, f64>,
    clock_source: String,
    waited_s: HashMap<(PathBuf, &'static str), f64>,
    throttled: Option<u64>,
    quota: Option<(u64, f64)>,
    events: BTreeMap<&'static str, u64>,
}

impl Watch {
    fn begin(asked: HostWatchBegin, sensors: &Sensors, root: Root) -> Self {
        let who = Who::read(&asked.who);
        let quotas = Quotas::of(who.pids(), &root);
        Self {
            is_served: !(asked.who.servers.is_empty() && asked.who.serving.is_empty()),
            log: Log::from_now(&root),
            disk: asked.disk.and_then(|disk| Disk::begin(disk, &who)),
            frequency: Frequency::from_now(&root),
            external: External::from_now(&who),
            before: Look::now(&who, sensors, &quotas, &root),
            quotas,
            root,
        }
    }

    fn tell(&mut self, asked: &HostWho, cpus: Option<&[u32]>, sensors: &Sensors) -> HostSeen {
        let who = Who::read(asked);
        let now = Look::now(&who, sensors, &self.quotas, &self.root);
        let before = std::mem::replace(&mut self.before, now);
        let now = &self.before;
        let external = self.external.seen(&who, cpus);
        let disk = self.disk.as_mut().map(|disk| disk.seen(&who));
        let (own_bytes, foreign_bytes) = disk.unwrap_or_default();
        let of = |name| {
            Some(
                now.events
                    .get(name)?
                    .saturating_sub(*before.events.get(name)?),
            )
        };
        let mut clock_sources = vec![before.clock_source, now.clock_source.clone()];
        clock_sources.retain(|name| !name.is_empty());
        clock_sources.sort();
        clock_sources.dedup();
        let quota = now.quota.zip(before.quota);
        HostSeen {
            elapsed_s: now.at_ns.saturating_sub(before.at_ns) as f64 / 1e9,
            own_bytes,
            foreign_bytes,
            servers_s: self
                .is_served
                .then(|| proc::ticks_to_s(now.servers_ticks.saturating_sub(before.servers_ticks))),
            external_cpus: external.as_ref().map(|one| one.cpus),
            external_s: external.as_ref().map(|one| one.cpu_s),
            external_steal_s: external.and_then(|one| one.steal_s),
            foreign_waits_s: groups::longest_waits_s(&before.waited_s, &now.waited_s),
            swapped_pages: of(kernel::SWAPPED),
            allocation_stalls: of(kernel::ALLOCATION_STALLS),
            compaction_stalls: of(kernel::COMPACTION_STALLS),
            huge_page_fallbacks: of(kernel::HUGE_PAGE_FALLBACKS),
            throttled: now
                .throttled
                .zip(before.throttled)
                .map(|(now, before)| now.saturating_sub(before)),
            quota_throttled: quota.map(|(now, before)| now.0.saturating_sub(before.0)),
            quota_throttled_s: quota.map(|(now, before)| now.1 - before.1),
            frequency: self.frequency.ratio(),
            temperatures_c: before.temperatures_c,
            clock_sources,
            clock_step_s: (now.ahead_ns - before.ahead_ns) as f64 / 1e9,
            kernel_errors: self.log.errors(),
        }
    }
}

impl Look {
    fn now(who: &Who, sensors: &Sensors, quotas: &Quotas, root: &Root) -> Self {
        let ticks = |one: &proc::Process| one.cpu_ticks + one.children_ticks;
        Self {
            servers_ticks: who.servers.values().map(ticks).sum(),
            temperatures_c: sensors.temperatures_c(),
            clock_source: kernel::clock_source(root),
            waited_s: groups::others_waited_s(who.pids(), root),
            throttled: sensors.throttled(),
            quota: quotas.throttled(),
            events: kernel::events_of_memory(root),
            ahead_ns: kernel::time_of_day_ahead_ns(),
            at_ns: clock::now_ns(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wire::HostWatchTell;

    /// A host that is made of files.
    pub fn host(files: &[(&str, &str)]) -> (tempfile::TempDir, Root) {
        let directory = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = directory.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let root = Root(directory.path().to_owned());
        (directory, root)
    }

    #[test]
    fn whoever_executes_a_named_program_is_a_server_with_all_it_has_started() {
        let directory = tempfile::tempdir().unwrap();
        let program = directory.path().join("tiltyard-engine");
        fs::copy("/bin/sh", &program).unwrap();
        let script = "sleep 60 & echo; wait";
        let mut child = std::process::Command::new(&program)
            .args(["-c", script])
            .stdout(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        std::io::Read::read_exact(child.stdout.as_mut().unwrap(), &mut [0]).unwrap();
        let named = |path: &std::path::Path| {
            Who::read(&HostWho {
                serving: vec![path.to_str().unwrap().to_owned()],
                ..HostWho::default()
            })
        };
        let who = named(&program);
        assert!(who.servers.contains_key(&child.id()));
        let started: Vec<u32> = who
            .servers
            .keys()
            .copied()
            .filter(|pid| *pid != child.id())
            .collect();
        assert_eq!(started.len(), 1);
        assert!(who.ours.contains_key(&std::process::id()) && who.named.is_empty());
        assert!(named(&directory.path().join("gone")).servers.is_empty());
        for pid in [started[0], child.id()] {
            let pid = rustix::process::Pid::from_raw(pid as i32).unwrap();
            let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
        }
        child.wait().unwrap();
    }

    #[test]
    fn a_watch_tells_since_it_was_asked_before_and_ends_by_its_number() {
        let mut watches = Watches::default();
        let who = HostWho {
            ours: vec![std::process::id()],
            ..HostWho::default()
        };
        let begin = HostWatchBegin {
            who: who.clone(),
            disk: None,
        };
        let seen = |done: Result<HostDone, HostFailure>| match done.unwrap() {
            HostDone::Watch(seen) => *seen,
            other => panic!("{other:?}"),
        };
        let begun = watches.answer(7, HostWatch::Begin(begin.clone()));
        assert_eq!(seen(begun), HostSeen::default());
        std::thread::sleep(std::time::Duration::from_millis(20));
        let tell = |cpus| {
            HostWatch::Tell(HostWatchTell {
                of: 7,
                who: who.clone(),
                cpus,
            })
        };
        let first = seen(watches.answer(8, tell(None)));
        assert!((0.02..10.0).contains(&first.elapsed_s), "{first:?}");
        assert!(first.clock_step_s.abs() < 1e-3, "{first:?}");
        assert_eq!(first.clock_sources.len(), 1);
        assert_eq!((first.external_cpus, first.external_s), (None, None));
        assert_eq!(
            (first.servers_s, first.own_bytes, first.foreign_bytes),
            (None, None, None)
        );
        let cpus = proc::cpus().len() as u32;
        let every = seen(watches.answer(9, tell(Some(Vec::new()))));
        assert_eq!(every.external_cpus, Some(cpus));
        assert!(every.elapsed_s < first.elapsed_s + 10.0);
        let nowhere = seen(watches.answer(10, tell(Some(vec![1 << 20]))));
        assert_eq!(nowhere.external_cpus, None);
        seen(watches.answer(11, HostWatch::End(7)));
        for asked in [HostWatch::End(7), tell(None)] {
            let failed = watches.answer(12, asked).unwrap_err();
            assert_eq!(failed.text, "there is no watch number 7");
        }
        for id in 0..MOST as u64 {
            seen(watches.answer(id, HostWatch::Begin(begin.clone())));
        }
        let failed = watches.answer(99, HostWatch::Begin(begin)).unwrap_err();
        assert_eq!(failed.kind, HostFailureKind::Limit);
    }
}
