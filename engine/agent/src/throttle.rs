//! Limits of a loop device's bandwidth, set by the kernel's I/O controller (cgroup v1, blkio).
//!
//! They are set on the root group, so that they hold for whoever uses the device, for the kernel's own
//! writeback too. Version 2 of the controller (`io.max`) has no limits on its root group.
//!
//! Source: Documentation/admin-guide/cgroup-v1/blkio-controller.rst of the kernel.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::command::reason;
use crate::device::identity::backing_file;

const GROUP: &str = "/sys/fs/cgroup/blkio";
const LIMITS: [&str; 2] = [
    "blkio.throttle.read_bps_device",
    "blkio.throttle.write_bps_device",
];

/// Takes the limits of a device away while that file is behind it.
///
/// # Errors
/// The kernel does not take it.
pub fn take_away(device: &str, file: &Path) -> io::Result<Option<String>> {
    if backing_file(device).as_deref() != Some(file) {
        return Ok(None);
    }
    let number = number_of(device)?;
    let limits = LIMITS.map(|name| limit_of(&path(name), &number));
    if limits.iter().all(|limit| matches!(limit, Ok(0))) {
        return Ok(None);
    }
    set(device, 0)?;
    Ok(Some(format!("took the limit of /dev/{device} away")))
}

/// Limits reads and writes, each; 0 takes the limits away.
///
/// # Errors
/// The kernel does not take it.
pub fn set(device: &str, bytes_per_s: u64) -> io::Result<()> {
    let number = number_of(device)?;
    for path in LIMITS.map(path) {
        let of_path = |error| of(&path, &error);
        fs::write(&path, format!("{number} {bytes_per_s}")).map_err(of_path)?;
        if limit_of(&path, &number).map_err(of_path)? != bytes_per_s {
            let text =
                format!("/dev/{device}: the kernel did not take a limit of {bytes_per_s} B/s");
            return Err(io::Error::other(text));
        }
    }
    Ok(())
}

fn path(name: &str) -> PathBuf {
    Path::new(GROUP).join(name)
}

fn number_of(device: &str) -> io::Result<String> {
    let path = Path::new("/sys/class/block").join(device).join("dev");
    let text = fs::read_to_string(&path).map_err(|error| of(&path, &error))?;
    Ok(text.trim().to_owned())
}

/// Bytes a second; 0: there is no limit.
fn limit_of(path: &Path, number: &str) -> io::Result<u64> {
    Ok(said_of(number, &fs::read_to_string(path)?))
}

fn said_of(number: &str, text: &str) -> u64 {
    let mut lines = text.lines().filter_map(|line| line.split_once(' '));
    let found = lines.find(|(which, _)| *which == number);
    found.map_or(0, |(_, limit)| limit.trim().parse().unwrap_or(0))
}

fn of(path: &Path, error: &io::Error) -> io::Error {
    io::Error::other(format!("{}: {}", path.display(), reason(error)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_has_the_limit_that_is_said_of_its_number() {
        let text = "7:1 100\n7:10 2000\n8:0 3\n";
        assert_eq!(said_of("7:10", text), 2000);
        assert_eq!(said_of("7:1", text), 100);
        assert_eq!(said_of("7:0", text), 0);
        assert_eq!(said_of("7:0", ""), 0);
    }

    #[test]
    fn what_is_not_ours_any_more_keeps_its_limit() {
        assert_eq!(take_away("loop-none", Path::new("/none")).unwrap(), None);
    }
}
