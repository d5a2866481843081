//! Block devices by what stays the same when names and numbers change; looks only.
//!
//! `/dev/sdb` is whichever disk the kernel found second. A disk is known by its serial number or its
//! world wide name, a partition by its identifier in the table, a loop device by the file behind it;
//! sysfs and `lsblk` (util-linux, which asks udev where there is one) tell them.

use std::collections::BTreeMap;
use std::fmt::{self, Display};
use std::fs;
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use kit::device::unescaped;
use wire::{HostDevice, HostFailure, HostFailureKind};

use crate::command::{failure, reason, said_by};
use crate::request::shown;

pub const BY_NUMBER: &str = "/sys/dev/block";
/// The unit of `size` in sysfs, whatever the device's own sector is.
pub const SECTOR_BYTES: u64 = 512;
const COLUMNS: &str = "MODEL,SERIAL,WWN,REV,PARTUUID";

/// One device, as it is at this moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Device {
    /// The name under which a person asked for it.
    pub given: PathBuf,
    pub is: HostDevice,
}

impl Device {
    /// The device of that name.
    ///
    /// # Errors
    /// `Refused`: there is none, or it is no block device.
    pub fn at(given: &Path) -> Result<Self, HostFailure> {
        let named = number_of(given).map_err(|why| refusal(given, &why))?;
        let gone = || refusal(given, "the kernel has no such device any more");
        let entry = entry_of(&named).ok_or_else(gone)?;
        let (node, disk) = (node_of(&entry), disk_entry(&entry));
        let sectors = text_of(&entry.join("size")).and_then(|text| text.parse::<u64>().ok());
        let size_bytes = sectors.unwrap_or(0) * SECTOR_BYTES;
        let mut of_disk = match size_bytes {
            0 => BTreeMap::new(),
            _ => lsblk(&node_of(&disk))?,
        };
        let mut of_part = match size_bytes > 0 && disk != entry {
            true => lsblk(&node)?,
            false => BTreeMap::new(),
        };
        let or = |told: Option<String>, files: &[&str]| {
            told.or_else(|| files.iter().find_map(|file| text_of(&disk.join(file))))
        };
        let is = HostDevice {
            number: text_of(&entry.join("dev")).unwrap_or_default(),
            size_bytes,
            model: of_disk.remove("model"),
            firmware: or(of_disk.remove("rev"), &["device/firmware_rev"]),
            serial: or(of_disk.remove("serial"), &["serial", "device/serial"]),
            wwn: or(of_disk.remove("wwn"), &["wwid", "device/wwid"]),
            partuuid: of_part.remove("partuuid"),
            backing_file: backing_file(&node).map(|path| path.to_string_lossy().into_owned()),
            node,
            refused: None,
        };
        let given = given.to_owned();
        Ok(Self { given, is })
    }

    /// Its directory in `/sys`, by number; `None`: the kernel does not have it any more.
    pub fn entry(&self) -> Option<PathBuf> {
        entry_of(&self.is.number)
    }

    /// It and its partitions: number → directory in `/sys`.
    pub fn parts(&self) -> BTreeMap<String, PathBuf> {
        let Some(entry) = self.entry() else {
            return BTreeMap::new();
        };
        let inside = below(&entry).filter(|one| one.join("partition").exists());
        let parts = inside.chain([entry.clone()]);
        parts
            .filter_map(|part| Some((text_of(&part.join("dev"))?, part)))
            .collect()
    }
}

/// As a person would check it: name, model, serial and size.
impl Display for Device {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is = &self.is;
        write!(to, "{} (", self.given.display())?;
        if Path::new(&is.node) != self.given {
            write!(to, "{}, ", is.node)?;
        }
        for (before, told) in [
            ("", &is.model),
            ("serial ", &is.serial),
            ("over ", &is.backing_file),
        ] {
            if let Some(told) = told {
                write!(to, "{before}{told}, ")?;
            }
        }
        write!(to, "{}, {} bytes)", size(is.size_bytes), is.size_bytes)
    }
}

fn refusal(given: &Path, why: &str) -> HostFailure {
    let text = format!("{}: {why}", given.display());
    failure(HostFailureKind::Refused, shown(&text))
}

/// `65536` → `64 KiB`, with four digits.
fn size(bytes: u64) -> String {
    let (mut value, mut unit) = (bytes as f64, "B");
    for larger in ["KiB", "MiB", "GiB", "TiB"] {
        if value < 1024.0 {
            break;
        }
        (value, unit) = (value / 1024.0, larger);
    }
    let whole = (value as u64).to_string().len();
    let digits = format!("{value:.*}", 4_usize.saturating_sub(whole));
    let short = match digits.contains('.') {
        true => digits.trim_end_matches('0').trim_end_matches('.'),
        false => &digits,
    };
    format!("{short} {unit}")
}

/// `major:minor` of a device node.
///
/// # Errors
/// Why there is none.
pub fn number_of(path: &Path) -> Result<String, String> {
    let found = fs::metadata(path).map_err(|error| reason(&error))?;
    match found.file_type().is_block_device() {
        true => Ok(number(found.rdev())),
        false => Err("is not a block device".to_owned()),
    }
}

/// As sysfs writes it.
pub fn number(device: u64) -> String {
    format!("{}:{}", libc::major(device), libc::minor(device))
}

/// The directory in `/sys` of the device of a number.
pub fn entry_of(number: &str) -> Option<PathBuf> {
    fs::canonicalize(Path::new(BY_NUMBER).join(number)).ok()
}

/// The kernel's own name of a device in `/sys`, where a slash is written `!`.
pub fn node_of(entry: &Path) -> String {
    let name = entry.file_name().unwrap_or_default().to_string_lossy();
    format!("/dev/{}", name.replace('!', "/"))
}

/// Of a partition in `/sys` its disk; anything else is one itself.
pub fn disk_entry(entry: &Path) -> PathBuf {
    match (entry.join("partition").exists(), entry.parent()) {
        (true, Some(disk)) => disk.to_owned(),
        _ => entry.to_owned(),
    }
}

/// The file behind a loop device, `/dev/loop3`; `None` if nothing is attached.
pub fn backing_file(node: &str) -> Option<PathBuf> {
    let name = node.strip_prefix("/dev/").unwrap_or(node);
    let told = Path::new("/sys/block").join(name).join("loop/backing_file");
    let text = fs::read_to_string(told).ok()?;
    let text = text.trim_end_matches('\n');
    Some(text.strip_suffix(" (deleted)").unwrap_or(text).into())
}

/// What is in a directory, in order.
pub fn below(directory: &Path) -> impl Iterator<Item = PathBuf> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    paths.sort();
    paths.into_iter()
}

/// A small file of the kernel that says something.
pub fn text_of(path: &Path) -> Option<String> {
    let bytes = fs::read(path).ok()?;
    let text = String::from_utf8_lossy(&bytes).trim().to_owned();
    (!text.is_empty()).then_some(text)
}

/// A line of a table of mounts (proc(5)).
pub struct Mount {
    /// `major:minor`; anonymous for btrfs and memory file systems.
    pub device: String,
    pub target: PathBuf,
    pub kind: String,
    pub source: PathBuf,
}

/// All mounts of a table, in the order in which they were made; `None`: it cannot be read.
pub fn mounts(table: &Path) -> Option<Vec<Mount>> {
    let bytes = fs::read(table).ok()?;
    Some(
        bytes
            .split(|byte| *byte == b'\n')
            .filter_map(mount)
            .collect(),
    )
}

/// `36 35 98:0 /root /point options … - type source options`
fn mount(line: &[u8]) -> Option<Mount> {
    let fields: Vec<&[u8]> = line.split(|byte| *byte == b' ').collect();
    let dash = fields.iter().position(|field| *field == b"-")?;
    let text = |at: usize| Some(String::from_utf8_lossy(fields.get(at)?).into_owned());
    Some(Mount {
        device: text(2)?,
        target: unescaped(fields.get(4)?),
        kind: text(dash + 1)?,
        source: unescaped(fields.get(dash + 2)?),
    })
}

/// Number of the device whose file system a path is in, or would be in; none for those in memory.
///
/// The source of the mount is asked, because btrfs has numbers of its own for its files.
///
/// # Errors
/// It is on no mount that is seen from here, so that nothing is known of it.
pub fn number_holding(path: &Path) -> io::Result<Option<String>> {
    let unseen = || {
        let text = "on no mount that can be seen from here, as in a chroot that is not one";
        io::Error::other(format!("{}: {text}", path.display()))
    };
    let real = path.ancestors().find_map(|one| fs::canonicalize(one).ok());
    let real = real.ok_or_else(unseen)?;
    let table = mounts(Path::new("/proc/self/mountinfo")).ok_or_else(unseen)?;
    let on = real
        .ancestors()
        .find_map(|one| table.iter().rfind(|mount| mount.target == one));
    Ok(number_of(&on.ok_or_else(unseen)?.source).ok())
}

/// What `lsblk` says of a device alone; what it does not know is left out.
fn lsblk(node: &str) -> Result<BTreeMap<String, String>, HostFailure> {
    let argv = ["lsblk", "--nodeps", "--json", "--output", COLUMNS, node];
    let said: serde_json::Value = serde_json::from_str(&said_by(&argv)?).unwrap_or_default();
    let columns = said["blockdevices"][0].as_object();
    let known = columns.into_iter().flatten().filter_map(|(name, value)| {
        let value = value.as_str()?.trim();
        (!value.is_empty()).then(|| (name.clone(), value.to_owned()))
    });
    Ok(known.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_has_four_digits_at_most() {
        for (bytes, text) in [
            (0, "0 B"),
            (512, "512 B"),
            (64 << 20, "64 MiB"),
            (1_572_864, "1.5 MiB"),
            (2_000_398_934_016, "1.819 TiB"),
            (1023 << 10, "1023 KiB"),
            (10_000_000, "9.537 MiB"),
        ] {
            assert_eq!(size(bytes), text);
        }
    }

    #[test]
    fn a_device_is_told_as_a_person_would_check_it() {
        let mut device = Device {
            given: "/dev/disk/by-id/ata-X".into(),
            is: HostDevice {
                node: "/dev/sdb".to_owned(),
                size_bytes: 64 << 20,
                model: Some("Make 1".to_owned()),
                serial: Some("S5".to_owned()),
                ..HostDevice::default()
            },
        };
        let told = "/dev/disk/by-id/ata-X (/dev/sdb, Make 1, serial S5, 64 MiB, 67108864 bytes)";
        assert_eq!(device.to_string(), told);
        device.given = "/dev/sdb".into();
        device.is.model = None;
        device.is.serial = None;
        assert_eq!(device.to_string(), "/dev/sdb (64 MiB, 67108864 bytes)");
    }

    #[test]
    fn what_is_no_block_device_is_refused_by_name() {
        let told = |path: &str| Device::at(Path::new(path)).unwrap_err();
        assert_eq!(told("/dev/null").text, "/dev/null: is not a block device");
        assert_eq!(told("/no/such").text, "/no/such: No such file or directory");
        assert_eq!(told("/no/such").kind, HostFailureKind::Refused);
    }

    #[test]
    fn a_line_of_mounts_has_its_number_and_its_source() {
        let line = b"36 35 98:0 /root /a\\040b rw shared:1 - ext4 /dev/sda1 rw,errors=continue";
        let found = mount(line).unwrap();
        assert_eq!((&*found.device, &*found.kind), ("98:0", "ext4"));
        assert_eq!(found.target, Path::new("/a b"));
        assert_eq!(found.source, Path::new("/dev/sda1"));
        assert!(mount(b"36 35 98:0").is_none());
    }
}
