//! What was changed of a host, with all that is needed to take it back.
//!
//! A change is in the ledger *before* it is made, so one that is recorded may not have happened yet, or
//! may have been taken back already. Whoever takes it back looks first: he acts only on what is there
//! and still ours, and says what he did. A removal is synced: the ledger forgets it, and a power cut must
//! not bring back what nobody remembers.

use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use kit::device::mounts;
use kit::removal;
use rustix::mount::{unmount, UnmountFlags};
use serde::{Deserialize, Serialize};

use crate::apart;
use crate::back::Back;
use crate::command::reason;
use crate::device::formatted::Formatted;
use crate::device::identity::backing_file;
use crate::inside::{self, Process};
use crate::isolate::Partition;
use crate::marked::Marked;
use crate::names::{refused, require_prefix};
use crate::network;
use crate::owed::Owed;
use crate::patience::until;
use crate::pool;
use crate::throttle;

/// Values are set again only here.
const SETTINGS: [&str; 3] = ["/proc/sys/", "/proc/irq/", "/sys/"];
const BLOCK: &str = "/sys/block";
/// Settings of loop devices, which only the run has that has attached them.
const OF_LOOPS: [&str; 3] = [
    "/sys/block/loop",
    "/sys/class/block/loop",
    "/sys/devices/virtual/block/loop",
];
/// `<linux/loop.h>`
const LOOP_CLR_FD: libc::Ioctl = 0x4C01;

/// One that is recorded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Change {
    /// A directory, with all that is in it.
    Made {
        directory: PathBuf,
        /// The inode of one that another user could exchange: no other is removed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        apart: Option<u64>,
    },
    /// A file.
    Put { path: PathBuf },
    /// A file behind a loop device; behind which, the kernel decides later.
    Attached { file: PathBuf },
    /// A loop device with that file, mounted there; without one, whatever is mounted there, which has a
    /// name of ours.
    Mounted {
        at: PathBuf,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        behind: Option<PathBuf>,
    },
    /// A value of a file of the kernel.
    Set {
        file: PathBuf,
        before: String,
        value: String,
        /// While this loop device has that file behind it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        behind: Option<(String, PathBuf)>,
    },
    /// The bandwidth of a loop device, while that file is behind it.
    Limited { device: String, file: PathBuf },
    /// A network namespace that was not there.
    Network { name: String },
    /// What a command has set.
    Ran(Back),
    /// What is owed at the end.
    Owes(Owed),
    /// A file system on a block device that was blank.
    Formatted { is: Formatted },
    /// A process that stays, with its keeper.
    Started {
        marked: Marked,
        /// What it serves: it ends when that is unmounted.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        mounted: Option<PathBuf>,
    },
    /// CPUs that others are kept off.
    Isolated { partition: Partition },
    /// A ZFS pool that is imported.
    Pool { name: String },
    /// A directory in the mount namespace of a process.
    Inside { directory: PathBuf, of: Process },
}

impl Change {
    /// Whether a boot of the host undoes it; what is there afterwards is then not ours.
    pub fn ends_with_boot(&self) -> bool {
        match self {
            Self::Made { .. } | Self::Put { .. } | Self::Formatted { .. } | Self::Owes(_) => false,
            Self::Ran(back) => back.ends_with_boot,
            _ => true,
        }
    }

    /// Whether all of this machine share it: one run at a time may make such changes.
    pub fn is_machine_wide(&self) -> bool {
        match self {
            Self::Set { file, .. } => {
                let file = file.to_string_lossy();
                !OF_LOOPS.iter().any(|above| file.starts_with(above))
            }
            Self::Ran(_) | Self::Isolated { .. } => true,
            _ => false,
        }
    }

    /// Makes sure that it could be taken back, which nothing is that has no name of ours.
    ///
    /// # Errors
    /// It could not be, and is not to be made.
    pub fn require_ours(&self) -> io::Result<()> {
        match self {
            Self::Made { directory, .. } | Self::Inside { directory, .. } => {
                require_prefix(directory, "not made")
            }
            Self::Put { path } => require_prefix(path, "not made"),
            Self::Mounted { at, behind: None } => require_prefix(at, "not mounted"),
            _ => Ok(()),
        }
    }

    /// Takes it back for good; what was done, `None` if nothing was left to do.
    ///
    /// # Errors
    /// It cannot be, or is not ours any more; the message says what stays.
    pub fn take_back(&self) -> io::Result<Option<String>> {
        match self {
            Self::Made {
                directory,
                apart: Some(inode),
            } => apart::remove(directory, *inode),
            Self::Made { directory, .. } => remove_directory(directory),
            Self::Put { path } => remove_file(path),
            Self::Attached { file } => detach(file),
            Self::Mounted { at, behind } => unmount_ours(at, behind.as_deref()),
            Self::Set {
                file,
                before,
                value,
                behind,
            } => match behind {
                Some((device, own)) if backing_file(device).as_ref() != Some(own) => Ok(None),
                _ => set_again(file, before, value),
            },
            Self::Limited { device, file } => throttle::take_away(device, file),
            Self::Network { name } => network::remove(name),
            Self::Ran(back) => back.take_back(),
            Self::Owes(owed) => owed.take_back(),
            Self::Formatted { is } => is.take_back(),
            Self::Started { marked, mounted } => end(marked, mounted.as_deref()),
            Self::Isolated { partition } => partition.take_back(),
            Self::Pool { name } => pool::export(name),
            Self::Inside { directory, of } => inside::remove(directory, of),
        }
    }
}

fn remove_directory(directory: &Path) -> io::Result<Option<String>> {
    require_prefix(directory, "not removed")?;
    match fs::symlink_metadata(directory) {
        Ok(found) if found.is_dir() => {}
        _ => return Ok(None),
    }
    let real = fs::canonicalize(directory)?;
    if let Some((inside, _)) = mounts()?.iter().find(|(point, _)| point.starts_with(&real)) {
        let why = format!("not removed, because {} is mounted", inside.display());
        return Err(refused(directory.display(), why));
    }
    removal::remove(directory).map_err(|remains| {
        let fix = remains.fix(directory);
        let why = format_args!("not removed: {remains}. Fix: {fix}");
        refused(directory.display(), why)
    })?;
    sync_above(directory)?;
    Ok(Some(format!("removed {}", directory.display())))
}

fn remove_file(path: &Path) -> io::Result<Option<String>> {
    require_prefix(path, "not removed")?;
    match fs::remove_file(path) {
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            return Ok(None)
        }
        other => other.map_err(|error| refused(path.display(), error))?,
    }
    sync_above(path)?;
    Ok(Some(format!("removed {}", path.display())))
}

/// Names in a directory are on disk.
pub fn sync_directory(directory: &Path) -> io::Result<()> {
    File::open(directory)?.sync_all()
}

fn sync_above(path: &Path) -> io::Result<()> {
    path.parent().map_or(Ok(()), sync_directory)
}

/// The loop devices that a file is attached to.
fn loops_of(file: &Path) -> Vec<String> {
    let entries = fs::read_dir(BLOCK).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    let mut found: Vec<String> = names
        .filter(|name| name.starts_with("loop"))
        .filter(|name| backing_file(name).as_deref() == Some(file))
        .collect();
    found.sort();
    found
}

fn detach(file: &Path) -> io::Result<Option<String>> {
    let devices = loops_of(file);
    for device in &devices {
        let opened = File::open(Path::new("/dev").join(device))?;
        // SAFETY: it takes no argument.
        let done = unsafe { libc::ioctl(std::os::fd::AsRawFd::as_raw_fd(&opened), LOOP_CLR_FD) };
        let error = io::Error::last_os_error();
        // Somebody else has detached it meanwhile.
        if done != 0 && error.raw_os_error() != Some(libc::ENXIO) {
            return Err(refused(format_args!("/dev/{device}"), error));
        }
    }
    if !until(|| loops_of(file).is_empty()) {
        return Err(refused(file.display(), "still attached"));
    }
    let names: Vec<String> = devices.iter().map(|name| format!("/dev/{name}")).collect();
    Ok((!names.is_empty()).then(|| format!("detached {}", names.join(" "))))
}

/// The loop device of a mount's source.
fn loop_name(source: &Path) -> Option<&str> {
    source.strip_prefix("/dev").ok()?.to_str()
}

fn unmount_ours(at: &Path, behind: Option<&Path>) -> io::Result<Option<String>> {
    if behind.is_none() {
        require_prefix(at, "not unmounted")?;
    }
    let mut done = None;
    loop {
        let there = mounts()?.into_iter().rfind(|(point, _)| point == at);
        let Some((_, source)) = there else {
            return Ok(done);
        };
        if behind.is_some() && loop_name(&source).and_then(backing_file).as_deref() != behind {
            let why = format!("not unmounted: {} is not ours", source.display());
            return Err(refused(at.display(), why));
        }
        let mut error = None;
        until(|| match unmount(at, UnmountFlags::NOFOLLOW) {
            Err(rustix::io::Errno::BUSY) => {
                error = Some(rustix::io::Errno::BUSY);
                false
            }
            other => {
                error = other.err();
                true
            }
        });
        if let Some(error) = error {
            return Err(refused(at.display(), io::Error::from(error)));
        }
        done = Some(format!("unmounted {}", at.display()));
    }
}

/// Ends a process that stays, and what it serves.
fn end(marked: &Marked, mounted: Option<&Path>) -> io::Result<Option<String>> {
    let unmounted = || mounted.map_or(Ok(None), |at| unmount_ours(at, None));
    // First: a server writes then what it keeps.
    let mut done: Vec<String> = unmounted()?.into_iter().collect();
    let ended = marked.end()?;
    // One that was still about to mount may have mounted meanwhile.
    done.extend(unmounted()?);
    if !ended.is_empty() {
        let pids: Vec<_> = ended.iter().map(u32::to_string).collect();
        done.push(format!(
            "ended {}, process {}",
            marked.mark,
            pids.join(", ")
        ));
    }
    Ok((!done.is_empty()).then(|| done.join("; ")))
}

/// The value in force: of `none [mq-deadline] kyber` the one in brackets.
pub fn chosen(file: &Path) -> io::Result<String> {
    let text = fs::read_to_string(file).map_err(|error| refused(file.display(), error))?;
    let chosen = text
        .split_once('[')
        .and_then(|(_, rest)| rest.split_once(']'));
    Ok(chosen.map_or(text.trim(), |(chosen, _)| chosen).to_owned())
}

/// Why a value is not in force.
pub struct NotSet {
    /// What the kernel says to it; empty: nothing, and it has made something else of it.
    pub text: String,
    pub now: String,
}

/// Writes a value and makes sure that it is in force.
///
/// # Errors
/// The file is none that may be set, or cannot be read; in the result, that it is not taken.
pub fn set(file: &Path, value: &str) -> io::Result<Result<(), NotSet>> {
    let path = file.to_string_lossy();
    let is_setting = SETTINGS.iter().any(|above| path.starts_with(above)) && !path.contains("/../");
    if !is_setting {
        return Err(refused(&path, "not set: it is no setting of the kernel"));
    }
    let refusal = fs::write(file, value).err();
    let now = chosen(file)?;
    if words(&now) == words(value) {
        return Ok(Ok(()));
    }
    let is_not_taken = |error| format!("\"{value}\" is not taken ({})", reason(&error));
    let text = refusal.map_or_else(String::new, is_not_taken);
    Ok(Err(NotSet { text, now }))
}

/// What is told of a value that is not in force.
pub fn told(file: &Path, value: &str, why: &NotSet) -> String {
    let path = file.display();
    let says = fs::read_to_string(file).unwrap_or_default();
    let says = says.trim();
    match why.text.as_str() {
        // Of what it offers it has taken nothing.
        "" if says.contains('[') => {
            format!("{path}: \"{value}\" is not taken; it says \"{says}\"")
        }
        "" => format!("{path}: the kernel makes \"{}\" of \"{value}\"", why.now),
        text => format!("{path}: {text}; it says \"{says}\""),
    }
}

/// The kernel separates numbers as it likes.
pub fn words(value: &str) -> Vec<&str> {
    value.split_ascii_whitespace().collect()
}

fn set_again(file: &Path, before: &str, value: &str) -> io::Result<Option<String>> {
    if !file.exists() {
        return Ok(None);
    }
    let now = chosen(file)?;
    let path = file.display();
    if words(&now) == words(before) {
        return Ok(None);
    }
    if words(&now) != words(value) {
        let why = format!("somebody has set it since (it was \"{before}\")");
        return Ok(Some(format!("left {path} at \"{now}\": {why}")));
    }
    match set(file, before)? {
        Ok(()) => Ok(Some(format!("set {path} to \"{before}\" again"))),
        Err(why) => Err(io::Error::other(told(file, before, &why))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_has_a_name_of_ours_is_unmounted_whatever_is_there() {
        let told = |at: &str| {
            let at = PathBuf::from(at);
            let taken = Change::Mounted { at, behind: None }.take_back();
            taken.map_err(|error| error.to_string())
        };
        let why = "/proc: not unmounted: its name does not begin with tiltyard-";
        assert_eq!(told("/proc"), Err(why.to_owned()));
        assert_eq!(told("/no/such/tiltyard-mount"), Ok(None));
    }
}
