//! Where a group can be made: which version of cgroups has the controller, and below which group.

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use wire::{Failure, FailureKind};

use crate::device::unescaped;
use crate::failure::failure;

/// The two interfaces of the kernel (cgroup-v1/memory.rst and cgroup-v2.rst there).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Version {
    One,
    Two,
}

impl Version {
    /// The file that takes the limit, in bytes.
    pub fn limit(self) -> &'static str {
        match self {
            Version::One => "memory.limit_in_bytes",
            Version::Two => "memory.max",
        }
    }

    /// The file that takes a 0 so that nothing is swapped out.
    pub fn swap(self) -> &'static str {
        match self {
            Version::One => "memory.swappiness",
            Version::Two => "memory.swap.max",
        }
    }

    fn file_system(self) -> &'static [u8] {
        match self {
            Version::One => b"cgroup",
            Version::Two => b"cgroup2",
        }
    }
}

/// Where this process is, and where its group can be.
#[derive(Debug, PartialEq, Eq)]
pub struct Hierarchy {
    pub version: Version,
    /// The group of this process now.
    pub origin: PathBuf,
    /// The group below which another one can be limited.
    pub parent: PathBuf,
}

impl Hierarchy {
    /// As `/proc` lists it.
    ///
    /// # Errors
    /// `HostLacks` a memory controller.
    pub fn of_this_process() -> Result<Self, Failure> {
        let read = |path| fs::read(path).unwrap_or_default();
        Self::find(&read("/proc/self/mountinfo"), &read("/proc/self/cgroup"))
    }

    /// Version 1 where it has the memory controller, which then version 2 cannot have.
    fn find(mountinfo: &[u8], cgroups: &[u8]) -> Result<Self, Failure> {
        let origin_in = |version| directory_in(mountinfo, cgroups, version, b"memory");
        if let Some((origin, _)) = origin_in(Version::One) {
            return Ok(Self {
                version: Version::One,
                parent: origin.clone(),
                origin,
            });
        }
        let Some((origin, top)) = origin_in(Version::Two) else {
            return Err(lacking(
                "no hierarchy of cgroups is mounted; mount -t cgroup2 cgroup2 /sys/fs/cgroup",
            ));
        };
        match handing_down(&origin, &top) {
            Some(parent) => Ok(Self {
                version: Version::Two,
                parent,
                origin,
            }),
            None => Err(lacking(&format!(
                "no cgroup above this process hands the controller down; \
                 echo +memory > {}/cgroup.subtree_control",
                top.display()
            ))),
        }
    }
}

/// The groups of this process below which programs can have one, the better first: version 2
/// takes them in as they are made, and needs no controller for it.
pub fn for_programs() -> Vec<(Version, PathBuf)> {
    let read = |path| fs::read(path).unwrap_or_default();
    let (mounts, cgroups) = (read("/proc/self/mountinfo"), read("/proc/self/cgroup"));
    let found = [Version::Two, Version::One].map(|version| {
        let (directory, _) = directory_in(&mounts, &cgroups, version, b"pids")?;
        Some((version, directory))
    });
    found.into_iter().flatten().collect()
}

/// The directory of this process's group, and the topmost one that is seen.
fn directory_in(
    mountinfo: &[u8],
    cgroups: &[u8],
    version: Version,
    controller: &[u8],
) -> Option<(PathBuf, PathBuf)> {
    let path = path_in(cgroups, version, controller)?;
    let mounts = mountinfo.split(|&byte| byte == b'\n');
    let mut mounts = mounts.filter_map(|line| parse_mount(line, version, controller));
    mounts.find_map(|mount| mount.directory(&path))
}

fn lacking(what: &str) -> Failure {
    let message = format!("out-of-cache access needs the memory controller of cgroups, but {what}");
    failure(FailureKind::HostLacks, message)
}

/// The nearest group, from `origin` up to `top`, whose children have the controller. In version 2
/// that is never one with processes in it, save the topmost.
fn handing_down(origin: &Path, top: &Path) -> Option<PathBuf> {
    let groups = origin
        .ancestors()
        .take_while(|group| group.starts_with(top));
    groups.map(Path::to_owned).find(|group| {
        fs::read_to_string(group.join("cgroup.subtree_control"))
            .is_ok_and(|controllers| controllers.split_whitespace().any(|name| name == "memory"))
    })
}

/// A mounted hierarchy.
struct Mount {
    /// The group that is seen at the mount point.
    root: PathBuf,
    point: PathBuf,
}

impl Mount {
    /// The directory of the group `path`, and the topmost one that is seen.
    fn directory(self, path: &Path) -> Option<(PathBuf, PathBuf)> {
        let below = path.strip_prefix(&self.root).ok()?;
        // Without the slash that joining nothing would add.
        let directory = self.point.join(below).components().collect();
        Some((directory, self.point))
    }
}

/// `36 35 0:31 /root /point options … - type source options` (proc_pid_mountinfo(5)); in version
/// 1 the last options name the controllers.
fn parse_mount(line: &[u8], version: Version, controller: &[u8]) -> Option<Mount> {
    let fields: Vec<&[u8]> = line.split(|&byte| byte == b' ').collect();
    let separator = fields.iter().position(|field| *field == b"-")?;
    let has_it = match version {
        Version::One => has(fields.get(separator + 3)?, controller),
        Version::Two => true,
    };
    let is_right = *fields.get(separator + 1)? == version.file_system() && has_it;
    is_right.then_some(Mount {
        root: unescaped(fields.get(3)?),
        point: unescaped(fields.get(4)?),
    })
}

/// The group of the process: lines `number:controllers:path` (cgroups(7)); version 2 has no
/// controllers there.
fn path_in(cgroups: &[u8], version: Version, controller: &[u8]) -> Option<PathBuf> {
    cgroups.split(|&byte| byte == b'\n').find_map(|line| {
        let mut fields = line.splitn(3, |&byte| byte == b':').skip(1);
        let (controllers, path) = (fields.next()?, fields.next()?);
        let is_right = match version {
            Version::One => has(controllers, controller),
            Version::Two => controllers.is_empty(),
        };
        is_right.then(|| Path::new(std::ffi::OsStr::from_bytes(path)).to_owned())
    })
}

fn has(list: &[u8], controller: &[u8]) -> bool {
    list.split(|&byte| byte == b',')
        .any(|name| name == controller)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: &[u8] = b"\
31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw,mode=755
33 31 0:29 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu
35 31 0:31 /box /sys/fs/cgroup/mem\\040ory rw - cgroup cgroup rw,memory
38 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw
";

    #[test]
    fn version_1_has_the_controller_where_it_is_mounted() {
        let cgroups = b"4:memory:/box/inner\n3:cpu:/\n0::/\n";
        let found = Hierarchy::find(ONE, cgroups).unwrap();
        let origin = PathBuf::from("/sys/fs/cgroup/mem ory/inner");
        assert_eq!(
            (found.version, &found.parent),
            (Version::One, &found.origin)
        );
        assert_eq!(found.origin, origin);
        let top = Hierarchy::find(ONE, b"4:cpuacct,memory:/box\n").unwrap();
        assert!(!top.origin.to_str().unwrap().ends_with('/'));
    }

    /// A tree of version 2 in which the controller is handed down by `handing`.
    fn tree(handing: &[&str]) -> (tempfile::TempDir, Result<Hierarchy, Failure>) {
        let top = tempfile::tempdir().unwrap();
        fs::create_dir_all(top.path().join("user/shell")).unwrap();
        for group in ["", "user", "user/shell"] {
            let hands = handing.contains(&group);
            let controllers = if hands { "cpu memory\n" } else { "cpu\n" };
            let file = top.path().join(group).join("cgroup.subtree_control");
            fs::write(file, controllers).unwrap();
        }
        let line = format!("9 1 0:5 / {} rw - cgroup2 none rw\n", top.path().display());
        let found = Hierarchy::find(line.as_bytes(), b"0::/user/shell\n");
        (top, found)
    }

    #[test]
    fn version_2_takes_the_nearest_group_that_hands_the_controller_down() {
        let (top, found) = tree(&["", "user"]);
        let found = found.unwrap();
        assert_eq!(found.version, Version::Two);
        assert_eq!(found.origin, top.path().join("user/shell"));
        assert_eq!(found.parent, top.path().join("user"));
    }

    #[test]
    fn a_lack_tells_what_would_mend_it() {
        let (_, found) = tree(&[]);
        let failure = found.unwrap_err();
        assert_eq!(failure.kind, FailureKind::HostLacks);
        assert!(failure.message.contains("echo +memory"), "{failure:?}");
        let failure = Hierarchy::find(b"", b"0::/\n").unwrap_err();
        assert!(failure.message.contains("mount -t cgroup2"), "{failure:?}");
    }
}
