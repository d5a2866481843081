//! Control groups: how long those of others waited, and how often a quota of ours was used up.
//!
//! Pressure stall information (accounting/psi.rst of the kernel) of the whole machine contains our own
//! trial and the kernel threads that work for it. What can be told apart is a control group (version
//! 2) beside ours: nothing of ours, and no kernel thread, is in it. Where all processes share the root
//! group there is none.
//!
//! A quota holds for all groups below it. A container shows its own group at best; limits that stand
//! above that cannot be read from inside.
//!
//! Source: cgroups(7); scheduler/sched-bwc.rst and admin-guide/cgroup-v2.rst of the kernel.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use super::Root;

const RESOURCES: [&str; 3] = ["cpu", "io", "memory"];
const ROOTS: [&str; 2] = ["/sys/fs/cgroup", "/sys/fs/cgroup/unified"];
/// More than `cpu.stat` has.
const STAT_BYTES: usize = 4096;

/// Time so far in which some task of a group waited for a resource.
type Waited = HashMap<(PathBuf, &'static str), f64>;

/// Of every group of others that tells.
pub fn others_waited_s(ours: impl Iterator<Item = u32>, root: &Root) -> Waited {
    let mut waited = HashMap::new();
    for group in groups_of_others(ours, root) {
        for resource in RESOURCES {
            if let Some(waited_s) = waited_s(&group.join(format!("{resource}.pressure"))) {
                waited.insert((group.clone(), resource), waited_s);
            }
        }
    }
    waited
}

/// Resource → the longest time that one group of others waited for it.
///
/// Groups wait at the same time, so that a sum would count seconds twice. `None` where nothing can be
/// told apart; a group that was made meanwhile counts in full.
pub fn longest_waits_s(before: &Waited, now: &Waited) -> Option<BTreeMap<String, f64>> {
    if now.is_empty() {
        return None;
    }
    let mut waits: BTreeMap<String, f64> = RESOURCES.map(|name| (name.to_owned(), 0.0)).into();
    for (of, waited_s) in now {
        let grown_s = waited_s - before.get(of).copied().unwrap_or(0.0);
        if let Some(longest_s) = waits.get_mut(of.1) {
            *longest_s = longest_s.max(grown_s);
        }
    }
    Some(waits)
}

/// The control groups beside that of this process, at each level down to it, with none of ours.
fn groups_of_others(ours: impl Iterator<Item = u32>, root: &Root) -> BTreeSet<PathBuf> {
    let Some(top) = ROOTS
        .map(|path| root.at(path))
        .into_iter()
        .find(|path| path.join("cgroup.controllers").exists())
    else {
        return BTreeSet::new();
    };
    let group_of = |process: &str| {
        let text = fs::read_to_string(root.at("/proc").join(process).join("cgroup")).ok()?;
        text.lines()
            .find_map(|line| line.strip_prefix("0::/"))
            .map(|group| top.join(group))
    };
    let Some(own) = group_of("self") else {
        return BTreeSet::new();
    };
    let with_ours: BTreeSet<PathBuf> = ours
        .filter_map(|pid| group_of(&pid.to_string()))
        .chain([own.clone()])
        .collect();
    let levels = own
        .ancestors()
        .skip(1)
        .filter(|level| level.starts_with(&top));
    levels
        .flat_map(fs::read_dir)
        .flatten()
        .flatten()
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
        .map(|entry| entry.path())
        .filter(|group| !with_ours.iter().any(|one| one.starts_with(group)))
        .collect()
}

/// Time in which some task waited, since boot, in seconds; `None` where the kernel does not say.
fn waited_s(file: &Path) -> Option<f64> {
    kit::proc::parse_pressure(&fs::read_to_string(file).ok()?)
}

/// Groups with a quota of CPU time; their files stay open.
pub struct Quotas(Vec<File>);

impl Quotas {
    /// Those of processes and all above.
    pub fn of(pids: impl Iterator<Item = u32>, root: &Root) -> Self {
        let texts =
            pids.filter_map(|pid| fs::read_to_string(root.at(&format!("/proc/{pid}/cgroup"))).ok());
        let texts: BTreeSet<String> = texts.collect();
        let groups: BTreeSet<String> = texts
            .iter()
            .flat_map(|text| with_all_above(text, "cpu"))
            .collect();
        let with_quota = groups
            .iter()
            .map(|group| root.at(group))
            .filter(|group| has_quota(group));
        Self(
            with_quota
                .flat_map(|group| File::open(group.join("cpu.stat")))
                .collect(),
        )
    }

    /// Periods in which a quota was used up, and how long CPUs were kept from it, in seconds, since the
    /// groups were made; `None` where there is no quota, or a group has gone.
    pub fn throttled(&self) -> Option<(u64, f64)> {
        let (mut periods, mut waited_s) = (0, 0.0);
        for file in &self.0 {
            let mut text = [0; STAT_BYTES];
            let length = file.read_at(&mut text, 0).ok()?;
            for line in String::from_utf8_lossy(&text[..length]).lines() {
                let (name, count) = line.split_once(' ').unwrap_or_default();
                let count: u64 = count.parse().unwrap_or(0);
                match name {
                    "nr_throttled" => periods += count,
                    "throttled_time" => waited_s += count as f64 / 1e9, // of version 1
                    "throttled_usec" => waited_s += count as f64 / 1e6,
                    _ => {}
                }
            }
        }
        (!self.0.is_empty()).then_some((periods, waited_s))
    }
}

/// Where a file of the group of this process may be, and of each above it.
pub fn files_of_ours(name: &str) -> Vec<String> {
    let text = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let controller = name.split('.').next().unwrap_or_default();
    let groups = with_all_above(&text, controller);
    groups
        .iter()
        .map(|group| format!("{group}/{name}"))
        .collect()
}

/// Where the group of a process in which a controller limits it may be, and each above it, of the text
/// of its `cgroup`: what is mounted may begin at any of them.
fn with_all_above(text: &str, controller: &str) -> Vec<String> {
    let lines = || {
        text.lines().filter_map(|line| {
            let mut fields = line.splitn(3, ':').skip(1);
            Some((fields.next()?, fields.next()?))
        })
    };
    let of_version_1 =
        lines().find(|(controllers, _)| controllers.split(',').any(|one| one == controller));
    let (roots, group) = match of_version_1 {
        Some((_, group)) => (vec![format!("/sys/fs/cgroup/{controller}")], group),
        None => match lines().find(|(controllers, _)| controllers.is_empty()) {
            Some((_, group)) => (ROOTS.map(str::to_owned).to_vec(), group),
            None => return Vec::new(),
        },
    };
    // A group outside of what a container sees begins with "/..".
    let names: Vec<&str> = match group.contains("/..") {
        true => Vec::new(),
        false => group.split('/').filter(|name| !name.is_empty()).collect(),
    };
    let levels = (0..=names.len()).map(|level| names[..level].join("/"));
    levels
        .flat_map(|level| roots.iter().map(move |root| format!("{root}/{level}")))
        .map(|path| path.trim_end_matches('/').to_owned())
        .collect()
}

fn has_quota(group: &Path) -> bool {
    let read = |name| fs::read_to_string(group.join(name)).ok();
    let is_number = |text: &str| text.trim().parse::<u64>().is_ok();
    match read("cpu.max") {
        Some(both) => both.split_ascii_whitespace().next().is_some_and(is_number),
        None => read("cpu.cfs_quota_us").is_some_and(|quota| is_number(&quota)),
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::host;
    use super::*;

    fn pressure(total_us: u64) -> String {
        format!(
            "some avg10=0.00 avg60=0.00 avg300=0.00 total={total_us}\nfull avg10=0.00 total=9\n"
        )
    }

    #[test]
    fn the_groups_beside_ours_are_those_of_others() {
        let second = pressure(1_000_000);
        let (directory, root) = host(&[
            ("sys/fs/cgroup/cgroup.controllers", "cpu"),
            ("sys/fs/cgroup/system.slice/io.pressure", &second),
            ("sys/fs/cgroup/user.slice/user-1.slice/io.pressure", &second),
            (
                "sys/fs/cgroup/user.slice/user-0.slice/ours/io.pressure",
                &second,
            ),
            ("sys/fs/cgroup/apart/trials/io.pressure", &second),
            (
                "proc/self/cgroup",
                "3:cpu:/\n0::/user.slice/user-0.slice/ours\n",
            ),
            ("proc/7/cgroup", "0::/apart/trials\n"),
        ]);
        let top = directory.path().join("sys/fs/cgroup");
        let found = groups_of_others([7].into_iter(), &root);
        let names: Vec<&Path> = found
            .iter()
            .map(|one| one.strip_prefix(&top).unwrap())
            .collect();
        assert_eq!(
            names,
            ["system.slice", "user.slice/user-1.slice"].map(Path::new)
        );
        let ours = || [7].into_iter();
        let before = others_waited_s(ours(), &root);
        fs::write(top.join("system.slice/io.pressure"), pressure(1_300_000)).unwrap();
        let own = top.join("user.slice/user-0.slice/ours/io.pressure");
        fs::write(own, pressure(9_000_000)).unwrap();
        let waits = longest_waits_s(&before, &others_waited_s(ours(), &root)).unwrap();
        assert_eq!((waits["cpu"], waits["memory"]), (0.0, 0.0));
        assert!((waits["io"] - 0.3).abs() < 1e-9);
    }

    #[test]
    fn where_all_share_one_group_nothing_can_be_told() {
        let (_directory, root) = host(&[
            ("sys/fs/cgroup/cgroup.controllers", "cpu"),
            ("proc/self/cgroup", "0::/\n"),
        ]);
        let none = || std::iter::empty();
        assert_eq!(
            longest_waits_s(&HashMap::new(), &others_waited_s(none(), &root)),
            None
        );
        assert!(others_waited_s(none(), &host(&[]).1).is_empty());
    }

    #[test]
    fn what_a_quota_of_a_group_above_held_up_is_counted_once() {
        let (directory, root) = host(&[
            ("proc/7/cgroup", "1:memory:/\n0::/pod/a\n"),
            ("proc/8/cgroup", "1:memory:/\n0::/pod/b\n"),
            ("sys/fs/cgroup/pod/a/cpu.max", "max 100000\n"),
            (
                "sys/fs/cgroup/pod/a/cpu.stat",
                "nr_periods 9\nnr_throttled 5\nthrottled_usec 5\n",
            ),
            ("sys/fs/cgroup/pod/b/cpu.max", "max 100000\n"),
            ("sys/fs/cgroup/pod/cpu.max", "50000 100000\n"),
            (
                "sys/fs/cgroup/pod/cpu.stat",
                "nr_periods 9\nnr_throttled 3\nthrottled_usec 250000\n",
            ),
        ]);
        let quotas = Quotas::of([7, 8].into_iter(), &root);
        assert_eq!(quotas.throttled(), Some((3, 0.25)));
        let stat = directory.path().join("sys/fs/cgroup/pod/cpu.stat");
        fs::write(stat, "nr_throttled 4\nthrottled_usec 1250000\n").unwrap();
        assert_eq!(quotas.throttled(), Some((4, 1.25)));
        assert_eq!(Quotas::of([9].into_iter(), &root).throttled(), None);
    }

    #[test]
    fn version_1_counts_nanoseconds() {
        let (_directory, root) = host(&[
            ("proc/7/cgroup", "9:pids:/\n4:cpu,cpuacct:/docker/a\n0::/\n"),
            ("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n"),
            ("sys/fs/cgroup/cpu/docker/a/cpu.cfs_quota_us", "40000\n"),
            (
                "sys/fs/cgroup/cpu/docker/a/cpu.stat",
                "nr_throttled 2\nthrottled_time 1500000000\n",
            ),
        ]);
        let quotas = Quotas::of([7].into_iter(), &root);
        assert_eq!(quotas.throttled(), Some((2, 1.5)));
    }

    #[test]
    fn a_group_that_a_container_does_not_see_is_looked_for_at_the_top() {
        assert_eq!(with_all_above("0::/../b", "cpu"), ROOTS);
        let of_pod = |controller| with_all_above("1:memory:/a\n0::/pod/a", controller);
        assert_eq!(of_pod("cpu").len(), 6);
        assert_eq!(of_pod("cpu")[4], "/sys/fs/cgroup/pod/a");
        let of_version_1 = ["/sys/fs/cgroup/memory", "/sys/fs/cgroup/memory/a"];
        assert_eq!(of_pod("memory"), of_version_1);
        assert!(with_all_above("", "cpu").is_empty());
    }
}
