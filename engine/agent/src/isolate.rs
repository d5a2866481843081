//! CPUs that others are kept off, and how these get them back.
//!
//! What measures enters a control group of ours that is a partition: the kernel itself keeps everybody else
//! off its CPUs, and nothing is written of a task that we have not started. Only version 2 of control groups
//! can do that.
//!
//! Source: Documentation/admin-guide/cgroup-v2.rst of the kernel, "cpuset.cpus.partition".

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use kit::device::unescaped;
use kit::node::{as_list, parse_list};
use kit::proc;
use rustix::process::geteuid;
use serde::{Deserialize, Serialize};

use crate::command::reason;
use crate::names::{refused, require_prefix};
use crate::patience::until;

/// Of the group at the top of the hierarchy. To make it is the lock of all who see that hierarchy, containers
/// too: only one can.
const NAME: &str = "tiltyard";
const CONTROL: &str = "cgroup.subtree_control";
const PROCESSES: &str = "cgroup.procs";
const PARTITION: &str = "cpuset.cpus.partition";
/// So many tasks are named that stand in the way.
const NAMED: usize = 3;

/// The group, with one in it for what measures: where that is, the group is ours.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Partition {
    /// Of the hierarchy.
    root: PathBuf,
    /// The name of the one in it.
    group: String,
    /// Whether groups at the top had cpusets before.
    handed_down: bool,
}

/// Why there is none.
#[derive(Debug, PartialEq, Eq)]
pub enum NotMade {
    /// Another run was first.
    Taken,
    /// What the kernel says.
    Refused(String),
}

impl Partition {
    /// Nothing is made yet.
    pub fn new(root: &Path, group: &str) -> Self {
        Self {
            root: root.to_owned(),
            group: group.to_owned(),
            handed_down: has_word(&text(&root.join(CONTROL)), "cpuset"),
        }
    }

    pub fn path(&self) -> PathBuf {
        self.root.join(NAME)
    }

    pub fn inside(&self) -> PathBuf {
        self.path().join(&self.group)
    }

    /// To which a process writes that enters it.
    pub fn entrance(&self) -> PathBuf {
        self.inside().join(PROCESSES)
    }

    /// Makes both groups, and gives them the CPUs.
    ///
    /// # Errors
    /// Somebody has made it already, or the kernel does not take it; what is made stays.
    pub fn make(&self, cpus: &BTreeSet<u32>) -> Result<(), NotMade> {
        let group = self.path();
        write(&self.root.join(CONTROL), "+cpuset")?;
        match fs::create_dir(&group) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => return Err(NotMade::Taken),
            made => made.map_err(|error| of(&group, &error))?,
        }
        fs::create_dir(self.inside()).map_err(|error| of(&self.inside(), &error))?;
        write(&group.join("cpuset.cpus"), &listed(cpus))?;
        let partition = group.join(PARTITION);
        write(&partition, "root")?;
        match text(&partition).as_str() {
            "root" => {}
            state => {
                let why = format!("{} says \"{state}\"", partition.display());
                return Err(NotMade::Refused(why));
            }
        }
        // Groups with a bound of memory, which the engine makes for itself, are then inside, too.
        let _ = fs::write(group.join(CONTROL), "+memory");
        Ok(())
    }

    /// Gives the CPUs back: what we started and left there goes to the top.
    ///
    /// # Errors
    /// A group cannot be removed, or the kernel does not take what is written.
    pub fn take_back(&self) -> io::Result<Option<String>> {
        require_prefix(&self.inside(), "not removed")?;
        let mut done = Vec::new();
        let group = self.path();
        if group.is_dir() {
            let inside = groups_in(&group);
            if !inside.is_empty() && !self.inside().is_dir() {
                return Ok(None); // Another run's, which was first.
            }
            // Of a group that is removed, the kernel gives the CPUs back some time later.
            let partition = group.join(PARTITION);
            if partition.exists() {
                fs::write(&partition, "member")
                    .map_err(|error| refused(partition.display(), reason(&error)))?;
            }
            for one in inside.iter().chain([&group]) {
                self.remove(one)?;
            }
            done.push(format!("gave the CPUs of {} back", group.display()));
        }
        done.extend(self.take_cpusets_back()?);
        Ok((!done.is_empty()).then(|| done.join("; ")))
    }

    /// Groups at the top have no cpusets any more, unless somebody has begun to use one.
    fn take_cpusets_back(&self) -> io::Result<Option<String>> {
        let control = self.root.join(CONTROL);
        let path = control.display();
        let now = fs::read_to_string(&control).map_err(|error| refused(path, reason(&error)))?;
        if self.handed_down || !has_word(&now, "cpuset") {
            return Ok(None);
        }
        let path = control.display();
        let is_used = |group: &PathBuf| !text(&group.join("cpuset.cpus")).is_empty();
        if let Some(used) = directories(&self.root).into_iter().find(is_used) {
            let used = used.display();
            let left = format!("left \"cpuset\" in {path}: {used} has been given CPUs since");
            return Ok(Some(left));
        }
        fs::write(&control, "-cpuset").map_err(|error| refused(path, reason(&error)))?;
        let path = control.display();
        Ok(Some(format!("took \"cpuset\" out of {path}")))
    }

    /// What is in it goes to the top; what it starts meanwhile, too.
    fn remove(&self, group: &Path) -> io::Result<()> {
        let top = self.root.join(PROCESSES);
        let mut last = None;
        let is_gone = until(|| {
            for pid in text(&group.join(PROCESSES)).split_ascii_whitespace() {
                // One that has ended meanwhile is nowhere.
                let _ = fs::write(&top, pid);
            }
            last = fs::remove_dir(group).err();
            let is_busy = |error: &io::Error| error.raw_os_error() == Some(libc::EBUSY);
            !last.as_ref().is_some_and(is_busy)
        });
        match last {
            None => Ok(()),
            Some(error) if is_gone && error.kind() == ErrorKind::NotFound => Ok(()),
            Some(error) => {
                let why = format!("not removed: {}", reason(&error));
                Err(refused(group.display(), why))
            }
        }
    }
}

/// Where groups can be made that keep others off a CPU; if there is no such place, why.
///
/// # Errors
/// We may not, or the kernel cannot.
pub fn root() -> Result<PathBuf, String> {
    if !geteuid().is_root() {
        return Err("only root can keep others off a CPU".to_owned());
    }
    let mountinfo = fs::read("/proc/self/mountinfo").unwrap_or_default();
    root_among(&mountinfo, |root| text(&root.join("cgroup.controllers")))
}

/// The same, of a table of mounts and the controllers that each hierarchy of version 2 has.
fn root_among(mountinfo: &[u8], controllers: impl Fn(&Path) -> String) -> Result<PathBuf, String> {
    let lines = mountinfo.split(|&byte| byte == b'\n');
    let mounted: Vec<Hierarchy> = lines.filter_map(hierarchy).collect();
    let of_version_2 = mounted.iter().filter(|one| one.is_of_version_2);
    let mut usable = of_version_2.filter(|one| has_word(&controllers(&one.root), "cpuset"));
    if let Some(found) = usable.next() {
        return Ok(found.root.clone());
    }
    let has_cpusets = |one: &Hierarchy| one.options.split(',').any(|option| option == "cpuset");
    Err(match mounted.iter().any(has_cpusets) {
        true => {
            "with control groups of version 1 it would be the tasks of others that are moved; boot \
             with systemd.unified_cgroup_hierarchy=1"
        }
        false => "this kernel has no cpusets (control groups of version 2)",
    }
    .to_owned())
}

/// Control groups that are mounted.
struct Hierarchy {
    root: PathBuf,
    is_of_version_2: bool,
    /// Of the file system.
    options: String,
}

/// `36 35 98:0 /root /point options … - type source options` (proc_pid_mountinfo(5)).
fn hierarchy(line: &[u8]) -> Option<Hierarchy> {
    let fields: Vec<&[u8]> = line.split(|&byte| byte == b' ').collect();
    let separator = fields.iter().position(|field| *field == b"-")?;
    let is_of_version_2 = match *fields.get(separator + 1)? {
        b"cgroup2" => true,
        b"cgroup" => false,
        _ => return None,
    };
    Some(Hierarchy {
        root: unescaped(fields.get(4)?),
        is_of_version_2,
        options: String::from_utf8_lossy(fields.get(separator + 3)?).into_owned(),
    })
}

/// Who has CPUs for itself, as far as it can be seen from here.
pub fn taken(group: &Path) -> String {
    let inside = groups_in(group);
    let mut groups = [group]
        .into_iter()
        .chain(inside.iter().map(PathBuf::as_path));
    let first = groups.find_map(|one| {
        let processes = text(&one.join(PROCESSES));
        processes.split_ascii_whitespace().next().map(str::to_owned)
    });
    let who = first.map_or_else(
        || "no process in it".to_owned(),
        |pid| format!("process {pid}"),
    );
    let group = group.display();
    format!(
        "{group} is taken by another run ({who}), perhaps of a container. Wait for its end; if it has none \
         any more: find {group} -depth -type d -delete"
    )
}

/// Why it would harm somebody, or cannot be.
///
/// # Errors
/// It is not known which CPUs there are.
pub fn hindrance(root: &Path, cpus: &BTreeSet<u32>) -> io::Result<Option<String>> {
    let path = root.join("cpuset.cpus.effective");
    let effective =
        fs::read_to_string(&path).map_err(|error| refused(path.display(), reason(&error)))?;
    let all: BTreeSet<u32> = parse_list(effective.trim()).into_iter().collect();
    Ok(too_many(cpus, &all).or_else(|| told_of_bound(&others(), cpus, &all)))
}

/// That these are not there for us, or all that there are.
fn too_many(cpus: &BTreeSet<u32>, all: &BTreeSet<u32>) -> Option<String> {
    if !all.is_superset(cpus) {
        let all = listed(all);
        return Some(format!(
            "others have only CPU {all}: the rest is not here, or somebody's alone"
        ));
    }
    (all == cpus).then(|| "no CPU would be left for others".to_owned())
}

/// A thread of somebody else, and where it may run.
struct Task {
    number: u32,
    cpus: BTreeSet<u32>,
}

/// Of those for whom somebody has chosen CPUs, and who would lose some of them.
fn told_of_bound(others: &[Task], cpus: &BTreeSet<u32>, all: &BTreeSet<u32>) -> Option<String> {
    let is_bound = |task: &&Task| !task.cpus.is_superset(all) && !task.cpus.is_disjoint(cpus);
    let bound: Vec<&Task> = others.iter().filter(is_bound).collect();
    let numbers = bound.iter().map(|task| task.number.to_string());
    let named: Vec<String> = numbers.take(NAMED).collect();
    let named = named.join(", ");
    let more = if bound.len() > NAMED { ", …" } else { "" };
    match bound.len() {
        0 => None,
        1 => Some(format!(
            "1 task of others bound to CPUs among these ({named})"
        )),
        many => Some(format!(
            "{many} tasks of others bound to CPUs among these ({named}{more})"
        )),
    }
}

/// All but the kernel's, and what we and who asks us have started: on another host that is the connection.
fn others() -> Vec<Task> {
    let ours = proc::family(&[std::process::id(), std::os::unix::process::parent_id()]);
    let kernel = proc::kernel_processes();
    let pids = proc::all_pids().into_iter();
    let others = pids.filter(|pid| !ours.contains_key(pid) && !kernel.contains_key(pid));
    let mut found: Vec<Task> = others.flat_map(tasks).collect();
    found.sort_by_key(|task| task.number);
    found
}

/// The threads of a process that can run.
fn tasks(pid: u32) -> Vec<Task> {
    let threads = fs::read_dir(format!("/proc/{pid}/task"))
        .into_iter()
        .flatten();
    let task = |entry: fs::DirEntry| {
        let number = entry.file_name().to_str()?.parse().ok()?;
        let cpus = allowed(&text(&entry.path().join("status")))?;
        Some(Task { number, cpus })
    };
    threads.flatten().filter_map(task).collect()
}

/// Where a task may run, of its `status`; `None` of one that has ended.
fn allowed(status: &str) -> Option<BTreeSet<u32>> {
    let field = |name: &str| {
        let mut lines = status.lines();
        lines
            .find_map(|line| line.strip_prefix(name))
            .map(str::trim)
    };
    match field("State:")?.starts_with(['Z', 'X']) {
        true => None,
        false => Some(
            parse_list(field("Cpus_allowed_list:")?)
                .into_iter()
                .collect(),
        ),
    }
}

/// How many threads of the kernel may run there.
pub fn kernel_threads(cpus: &BTreeSet<u32>) -> u32 {
    let pids = proc::kernel_processes().into_keys();
    let on_these = pids
        .flat_map(tasks)
        .filter(|task| !task.cpus.is_disjoint(cpus));
    on_these.count() as u32
}

fn listed(cpus: &BTreeSet<u32>) -> String {
    as_list(cpus.iter().copied())
}

/// Groups below one, innermost first.
fn groups_in(group: &Path) -> Vec<PathBuf> {
    let below = directories(group).into_iter();
    below
        .flat_map(|one| groups_in(&one).into_iter().chain([one]))
        .collect()
}

fn directories(above: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(above).into_iter().flatten().flatten();
    let directories = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    let mut found: Vec<PathBuf> = directories.map(|entry| entry.path()).collect();
    found.sort();
    found
}

fn has_word(text: &str, word: &str) -> bool {
    text.split_ascii_whitespace().any(|one| one == word)
}

/// A setting; empty where there is none.
fn text(path: &Path) -> String {
    fs::read_to_string(path)
        .unwrap_or_default()
        .trim()
        .to_owned()
}

fn write(path: &Path, value: &str) -> Result<(), NotMade> {
    fs::write(path, value).map_err(|error| of(path, &error))
}

fn of(path: &Path, error: &io::Error) -> NotMade {
    NotMade::Refused(format!("{}: {}", path.display(), reason(error)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set<const N: usize>(cpus: [u32; N]) -> BTreeSet<u32> {
        cpus.into()
    }

    fn partition(root: &Path) -> Partition {
        Partition {
            root: root.to_owned(),
            group: "tiltyard-x-measures".to_owned(),
            handed_down: false,
        }
    }

    /// A directory as the top of a hierarchy that hands this down.
    fn top(control: &str) -> tempfile::TempDir {
        let held = tempfile::tempdir().unwrap();
        fs::write(held.path().join(CONTROL), control).unwrap();
        held
    }

    #[test]
    fn where_cpusets_are_of_version_2_they_can_be_had() {
        let unified = b"25 20 0:22 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw,nsdelegate\n";
        let with = |controllers: &'static str| move |_: &Path| controllers.to_owned();
        let found = root_among(unified, with("cpuset cpu io"));
        assert_eq!(found, Ok(PathBuf::from("/sys/fs/cgroup")));
        let none = "this kernel has no cpusets (control groups of version 2)";
        assert_eq!(root_among(unified, with("cpu io")), Err(none.to_owned()));
        assert_eq!(root_among(b"", with("cpuset")), Err(none.to_owned()));
        let both = b"30 25 0:26 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n\
            36 25 0:22 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n";
        let why = root_among(both, with("")).unwrap_err();
        assert!(why.starts_with("with control groups of version 1"), "{why}");
    }

    #[test]
    fn whoever_has_chosen_cpus_among_these_is_in_the_way() {
        let told = |own: &str| {
            let cpus = parse_list(own).into_iter().collect();
            told_of_bound(
                &[Task { number: 7, cpus }],
                &set([2, 3]),
                &set([0, 1, 2, 3]),
            )
        };
        for own in ["0-3", "0-9", "0-1", ""] {
            assert_eq!(told(own), None, "{own}");
        }
        let text = "1 task of others bound to CPUs among these (7)";
        for own in ["2", "1-2", "0-2"] {
            assert_eq!(told(own).as_deref(), Some(text), "{own}");
        }
        let task = |number| Task {
            number,
            cpus: set([1]),
        };
        let many = [4, 5, 6, 7].map(task);
        assert_eq!(
            told_of_bound(&many, &set([1]), &set([0, 1])).as_deref(),
            Some("4 tasks of others bound to CPUs among these (4, 5, 6, …)")
        );
    }

    #[test]
    fn a_cpu_has_to_be_left_for_others() {
        assert_eq!(too_many(&set([1]), &set([0, 1])), None);
        let none = "no CPU would be left for others";
        assert_eq!(too_many(&set([0, 1]), &set([0, 1])).as_deref(), Some(none));
        let rest = "others have only CPU 0-1: the rest is not here, or somebody's alone";
        assert_eq!(too_many(&set([2]), &set([0, 1])).as_deref(), Some(rest));
    }

    #[test]
    fn one_that_has_ended_runs_nowhere() {
        let status = |state| format!("Name:\tx\nState:\t{state}\nCpus_allowed_list:\t0,2-3\n");
        assert_eq!(allowed(&status("S (sleeping)")), Some(set([0, 2, 3])));
        assert_eq!(allowed(&status("Z (zombie)")), None);
        assert_eq!(allowed(""), None);
    }

    #[test]
    fn what_is_ours_is_no_task_of_others() {
        let own = std::process::id();
        assert!(!tasks(own).is_empty());
        assert!(others().iter().all(|task| task.number != own));
    }

    #[test]
    fn who_is_first_is_told_and_keeps_it() {
        let held = top("memory\n");
        let first = held.path().join("tiltyard/tiltyard-y-measures");
        fs::create_dir_all(&first).unwrap();
        fs::write(first.join(PROCESSES), "812\n813\n").unwrap();
        let second = partition(held.path());
        assert_eq!(second.make(&set([1])), Err(NotMade::Taken));
        let told = taken(&second.path());
        assert!(
            told.contains("is taken by another run (process 812), perhaps"),
            "{told}"
        );
        fs::write(held.path().join(CONTROL), "memory\n").unwrap();
        assert_eq!(second.take_back().unwrap(), None);
        assert!(first.is_dir());
    }

    #[test]
    fn what_was_never_made_needs_no_way_back() {
        let held = top("memory\n");
        assert_eq!(partition(held.path()).take_back().unwrap(), None);
    }

    #[test]
    fn cpusets_that_somebody_has_begun_to_use_stay() {
        let held = top("cpuset memory\n");
        let control = held.path().join(CONTROL);
        let theirs = held.path().join("theirs");
        fs::create_dir(&theirs).unwrap();
        fs::write(theirs.join("cpuset.cpus"), "1\n").unwrap();
        let left = format!(
            "left \"cpuset\" in {}: {} has been given CPUs since",
            control.display(),
            theirs.display()
        );
        assert_eq!(partition(held.path()).take_back().unwrap(), Some(left));
        fs::write(theirs.join("cpuset.cpus"), "\n").unwrap();
        let took = format!("took \"cpuset\" out of {}", control.display());
        assert_eq!(partition(held.path()).take_back().unwrap(), Some(took));
        assert_eq!(fs::read_to_string(control).unwrap(), "-cpuset");
    }

    #[test]
    fn only_a_group_with_a_name_of_ours_is_removed() {
        let held = top("memory\n");
        let group = "other".to_owned();
        let other = Partition {
            group,
            ..partition(held.path())
        };
        let told = other.take_back().unwrap_err().to_string();
        assert!(told.contains("does not begin with tiltyard-"), "{told}");
    }
}
