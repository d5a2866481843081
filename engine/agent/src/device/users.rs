//! Who uses a block device: whoever is found here would lose what it has there.
//!
//! The kernel knows who has claimed a device for itself (open(2), `O_EXCL`), but not by name, and not
//! those who merely read and write it. So each table is read that names one.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use kit::device::unescaped;

use super::identity::{
    backing_file, below, mounts, node_of, number, number_holding, number_of, text_of, Device, Mount,
};
use super::ranges::{lies_on, passed_through, range_of, Base, Range};
use crate::command::reason;

/// How long others may take to let a device go.
const LET_GO: Duration = Duration::from_secs(5);
const STEP: Duration = Duration::from_millis(100);

/// One use of a device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Use {
    /// As a message takes it: "/dev/sdb1 is mounted on /srv (xfs)".
    pub clause: String,
    /// Whether it may be udev, which looks at a device for a moment after each change of it.
    pub may_pass: bool,
}

/// Who uses it, a part of it, or the bytes behind it; of several the one that tells most.
///
/// # Errors
/// The device is gone, or the kernel does not tell.
pub fn user(device: &Device) -> io::Result<Option<Use>> {
    let parts = device.parts();
    let parts: BTreeMap<String, String> = parts
        .into_iter()
        .map(|(number, entry)| (number, node_of(&entry)))
        .collect();
    let own = range_of(&device.is.number)?;
    let lasting = mounted(&parts, &own)?
        .or(swap(&own)?)
        .or(loops(device, &parts, &own)?)
        .or_else(|| holder(device));
    let passing = || processes(&parts, &own).or_else(|| claims(device));
    let may_pass = lasting.is_none();
    Ok(lasting
        .or_else(passing)
        .map(|clause| Use { clause, may_pass }))
}

/// The device, open for writing and ours alone; it may take a moment until others let it go.
///
/// # Errors
/// Who does not let it go.
pub fn claimed(device: &Device) -> Result<File, String> {
    let give_up = Instant::now() + LET_GO;
    loop {
        let mut options = OpenOptions::new();
        options.read(true).write(true).custom_flags(libc::O_EXCL);
        match options.open(&device.is.node) {
            Ok(file) => return Ok(file),
            Err(error) => {
                if error.raw_os_error() != Some(libc::EBUSY) || Instant::now() > give_up {
                    let named = user(device).ok().flatten().map(|one| one.clause);
                    return Err(named.unwrap_or_else(|| reason(&error)));
                }
            }
        }
        thread::sleep(STEP);
    }
}

/// Whether a directory lies on the device, however many layers are in between.
///
/// # Errors
/// The device is gone.
pub fn carries(device: &Device, directory: &Path) -> io::Result<bool> {
    let own = range_of(&device.is.number)?;
    match number_holding(directory)? {
        Some(lowest) => is_on(&lowest, &own),
        None => Ok(false),
    }
}

/// Whether a device has a byte in a range, however many layers are in between.
fn is_on(number: &str, own: &Range) -> io::Result<bool> {
    Ok(lies_on(number)?.iter().any(|each| each.overlaps(own)))
}

/// A file system on it, in any namespace of mounts that a process lives in.
fn mounted(parts: &BTreeMap<String, String>, own: &Range) -> io::Result<Option<String>> {
    let mut asked: BTreeMap<String, bool> = BTreeMap::new();
    for process in namespaces() {
        for mount in mounts(&process.join("mountinfo")).unwrap_or_default() {
            let Some(lowest) = number_under(&mount, &process) else {
                continue;
            };
            let is_it = match asked.get(&lowest) {
                Some(known) => *known,
                None => is_on(&lowest, own)?,
            };
            if is_it {
                let source = mount.source.to_string_lossy();
                let on = parts.get(&lowest).map_or(&*source, String::as_str);
                let seer = process.file_name().unwrap_or_default().to_string_lossy();
                let seen = match &*seer {
                    "self" => String::new(),
                    seer => format!(", as process {seer} sees it"),
                };
                let (target, kind) = (mount.target.display(), mount.kind);
                return Ok(Some(format!("{on} is mounted on {target} ({kind}){seen}")));
            }
            asked.insert(lowest, false);
        }
    }
    Ok(None)
}

/// One process of each namespace of mounts, ours first.
fn namespaces() -> Vec<PathBuf> {
    let mut seen = BTreeSet::new();
    let own = PathBuf::from("/proc/self");
    let all = [own].into_iter().chain(all_processes());
    all.filter(|process| {
        fs::read_link(process.join("ns/mnt")).is_ok_and(|namespace| seen.insert(namespace))
    })
    .collect()
}

fn all_processes() -> impl Iterator<Item = PathBuf> {
    let is_number = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().as_encoded_bytes();
        name.iter().all(u8::is_ascii_digit)
    };
    below(Path::new("/proc")).filter(is_number)
}

/// Number of the device that is mounted; btrfs gives another one, so its source is looked at.
fn number_under(mount: &Mount, process: &Path) -> Option<String> {
    if !mount.device.starts_with("0:") {
        return Some(mount.device.clone());
    }
    let inside = mount.source.strip_prefix("/").ok()?;
    if !inside.starts_with("dev") {
        return None;
    }
    let there = process.join("root").join(inside);
    number_of(&there).or_else(|_| number_of(&mount.source)).ok()
}

/// Swap space, on the device or in a file (proc(5)).
fn swap(own: &Range) -> io::Result<Option<String>> {
    let table = fs::read("/proc/swaps")?;
    for line in table.split(|byte| *byte == b'\n').skip(1) {
        let Some(name) = line.split(|byte| byte.is_ascii_whitespace()).next() else {
            continue;
        };
        let path = unescaped(name);
        let lowest = match number_of(&path) {
            Err(_) if path.exists() => number_holding(&path)?,
            other => other.ok(),
        };
        let is_on_it = lowest.map_or(Ok(false), |lowest| is_on(&lowest, own))?;
        if is_on_it || what(&path).as_ref() == Some(&own.base) {
            return Ok(Some(format!("the host swaps to {}", path.display())));
        }
    }
    Ok(None)
}

/// A device that is made of it: RAID, LVM, multipath, encryption, bcache.
fn holder(device: &Device) -> Option<String> {
    for entry in device.parts().values() {
        if let Some(holder) = below(&entry.join("holders")).next() {
            let name = text_of(&holder.join("dm/name"));
            let called = name.map_or_else(String::new, |name| format!(" ({name})"));
            let (part, whole) = (node_of(entry), node_of(&holder));
            return Some(format!("{part} is a part of {whole}{called}"));
        }
    }
    None
}

/// A loop device over bytes of it; the kernel does not call that a holder.
fn loops(
    device: &Device,
    parts: &BTreeMap<String, String>,
    own: &Range,
) -> io::Result<Option<String>> {
    let passed = passed_through(&device.is.number)?;
    for entry in below(Path::new("/sys/block")) {
        let node = node_of(&entry);
        let Some(behind) = backing_file(&node) else {
            continue;
        };
        let there = text_of(&entry.join("dev")).filter(|number| !passed.contains(number));
        let Some(Ok(there)) = there.map(|number| range_of(&number)) else {
            continue;
        };
        if there.overlaps(own) {
            let is_ours = number_of(&behind).is_ok_and(|number| parts.contains_key(&number));
            let which = match is_ours {
                true => String::new(),
                false => format!(", its bytes {} to {}", there.start, there.end - 1),
            };
            let behind = behind.display();
            return Ok(Some(format!(
                "{node} is a loop device over {behind}{which}"
            )));
        }
    }
    Ok(None)
}

/// A program that has it open, or the file behind it, our own process excepted.
fn processes(parts: &BTreeMap<String, String>, own: &Range) -> Option<String> {
    for process in all_processes() {
        let pid = process.file_name().unwrap_or_default().to_string_lossy();
        if *pid == std::process::id().to_string() {
            continue;
        }
        for file in below(&process.join("fd")) {
            let opened = match what(&file) {
                Some(Base::Device(number)) if parts.contains_key(&number) => {
                    parts.get(&number).cloned()
                }
                Some(base) if base == own.base => Some("what is behind it".to_owned()),
                _ => None,
            };
            if let Some(opened) = opened {
                let name = text_of(&process.join("comm")).unwrap_or_default();
                return Some(format!("{opened} is open in process {pid} ({name})"));
            }
        }
    }
    None
}

/// The block device or file that a path or a descriptor is of; it may be gone meanwhile.
fn what(path: &Path) -> Option<Base> {
    let found = fs::metadata(path).ok()?;
    match found.file_type() {
        kind if kind.is_block_device() => Some(Base::Device(number(found.rdev()))),
        kind if kind.is_file() => Some(Base::File(found.dev(), found.ino())),
        _ => None,
    }
}

/// The kernel's own word, which also knows those that no table names.
fn claims(device: &Device) -> Option<String> {
    let mut options = OpenOptions::new();
    options.read(true).custom_flags(libc::O_EXCL);
    let error = options.open(&device.is.node).err()?;
    let why = reason(&error);
    Some(format!("the kernel does not give it to us alone ({why})"))
}
