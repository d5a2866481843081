//! The block device under a directory, and what went in and out of it.

use std::fs;
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

/// `/sys` counts in sectors of this size, whatever the device's own.
const SECTOR_BYTES: u64 = 512;

/// A block device with counters.
#[derive(Debug, Clone)]
pub struct Device {
    /// Name in `/sys/block` or of the partition: `loop0`, `nvme0n1p2`.
    pub name: String,
    counters: PathBuf,
}

/// Bytes since the device was made.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counters {
    /// Bytes that the device delivered.
    pub read_bytes: u64,
    /// Bytes that the device took.
    pub written_bytes: u64,
}

impl Counters {
    /// What was added since `before`.
    pub fn since(self, before: Counters) -> Counters {
        Counters {
            read_bytes: self.read_bytes.saturating_sub(before.read_bytes),
            written_bytes: self.written_bytes.saturating_sub(before.written_bytes),
        }
    }
}

impl Device {
    /// The device that the file system of `directory` is mounted from; `None` where there is
    /// none (tmpfs, overlay, network).
    pub fn under(directory: &Path) -> Option<Self> {
        let number = match fs::metadata(directory).ok()?.dev() {
            // Anonymous (btrfs has one per subvolume), so that the source has to tell.
            number if libc::major(number) == 0 => {
                let source = source_of(mounts().ok()?, &fs::canonicalize(directory).ok()?)?;
                let source = fs::metadata(source).ok()?;
                source
                    .file_type()
                    .is_block_device()
                    .then(|| source.rdev())?
            }
            number => number,
        };
        let (major, minor) = (libc::major(number), libc::minor(number));
        let entry = fs::read_link(format!("/sys/dev/block/{major}:{minor}")).ok()?;
        Some(Self::named(entry.file_name()?.to_str()?))
    }

    /// The device of this name in `/sys/class/block`.
    pub fn named(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            counters: Path::new("/sys/class/block").join(name).join("stat"),
        }
    }

    /// Whether this is a loop device that reads its file through the page cache: what it
    /// delivers may come from memory.
    pub fn is_cached_loop(&self) -> bool {
        let Ok(device) = fs::canonicalize(Path::new("/sys/class/block").join(&self.name)) else {
            return false;
        };
        // The directory of a partition lies in that of its device.
        let mut flags = device.ancestors().take(2);
        flags.any(|place| {
            fs::read_to_string(place.join("loop/dio")).is_ok_and(|flag| flag.trim() == "0")
        })
    }

    /// The counters now; `None` when the device has gone.
    pub fn counters(&self) -> Option<Counters> {
        parse_counters(&fs::read_to_string(&self.counters).ok()?)
    }
}

/// Fields 3 and 7 of a block device's `stat` are sectors read and written
/// (Documentation/block/stat.rst of the kernel).
fn parse_counters(line: &str) -> Option<Counters> {
    let fields: Vec<u64> = line
        .split_ascii_whitespace()
        .map_while(|field| field.parse().ok())
        .collect();
    Some(Counters {
        read_bytes: fields.get(2)? * SECTOR_BYTES,
        written_bytes: fields.get(6)? * SECTOR_BYTES,
    })
}

/// What is mounted, in the order in which it was: where, and what from.
///
/// # Errors
/// The kernel does not tell.
pub fn mounts() -> io::Result<Vec<(PathBuf, PathBuf)>> {
    Ok(parse_mounts(&fs::read("/proc/self/mountinfo")?))
}

/// The same as a process sees them.
///
/// # Errors
/// There is no such process, or it is not ours to look into.
pub fn mounts_seen_by(pid: &str) -> io::Result<Vec<(PathBuf, PathBuf)>> {
    Ok(parse_mounts(&fs::read(format!("/proc/{pid}/mountinfo"))?))
}

fn parse_mounts(mountinfo: &[u8]) -> Vec<(PathBuf, PathBuf)> {
    let lines = mountinfo.split(|&byte| byte == b'\n');
    lines.filter_map(parse_mount).collect()
}

/// What the mount is from that `directory` is on: the longest mount point above it, and of several
/// on the same point the last, which hides the others.
fn source_of(mounts: Vec<(PathBuf, PathBuf)>, directory: &Path) -> Option<PathBuf> {
    mounts
        .into_iter()
        .filter(|(point, _)| directory.starts_with(point))
        .max_by_key(|(point, _)| point.as_os_str().as_bytes().len())
        .map(|(_, source)| source)
}

/// `36 35 98:0 /root /point options … - type source options` (proc_pid_mountinfo(5)).
fn parse_mount(line: &[u8]) -> Option<(PathBuf, PathBuf)> {
    let fields: Vec<&[u8]> = line.split(|&byte| byte == b' ').collect();
    let separator = fields.iter().position(|field| *field == b"-")?;
    Some((
        unescaped(fields.get(4)?),
        unescaped(fields.get(separator + 2)?),
    ))
}

/// mountinfo writes blanks and the like as a backslash and three octal digits.
pub fn unescaped(field: &[u8]) -> PathBuf {
    let mut bytes = Vec::with_capacity(field.len());
    let mut rest = field;
    while let [first, tail @ ..] = rest {
        match (first, tail) {
            (b'\\', [a @ b'0'..=b'3', b @ b'0'..=b'7', c @ b'0'..=b'7', after @ ..]) => {
                bytes.push((a - b'0') << 6 | (b - b'0') << 3 | (c - b'0'));
                rest = after;
            }
            _ => {
                bytes.push(*first);
                rest = tail;
            }
        }
    }
    std::ffi::OsString::from_vec(bytes).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOUNTINFO: &[u8] = b"\
21 1 254:0 / / rw,relatime - ext4 /dev/root rw
30 21 0:26 / /tmp rw - tmpfs tmpfs rw
31 30 0:40 /sub /tmp/with\\040blank rw,noatime shared:3 - btrfs /dev/loop3 rw
32 21 7:1 / /tmp rw - ext4 /dev/loop1 rw
";

    #[test]
    fn the_longest_and_last_mount_wins() {
        for (directory, source) in [
            ("/mnt/me", "/dev/root"),
            ("/tmp/x", "/dev/loop1"),
            ("/tmpfile", "/dev/root"),
            ("/tmp/with blank/x", "/dev/loop3"),
        ] {
            assert_eq!(
                source_of(parse_mounts(MOUNTINFO), Path::new(directory)),
                Some(source.into())
            );
        }
    }

    #[test]
    fn sectors_become_bytes() {
        let line = "  10 1 80 4   20 2 160 8   0 12 12 0 0 0 0 0 0\n";
        let counters = parse_counters(line).unwrap();
        assert_eq!(
            counters,
            Counters {
                read_bytes: 40_960,
                written_bytes: 81_920
            }
        );
        assert_eq!(parse_counters("1 2"), None);
    }

    #[test]
    fn what_has_no_block_device_has_no_counters() {
        assert!(Device::under(Path::new("/proc")).is_none());
    }
}
