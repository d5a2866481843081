//! What is on a block device: signatures that libblkid knows, and whether it is blank.
//!
//! A device counts as blank if no signature is found and all that is looked at is zero
//! ([`super::places`]).

use std::fmt::{self, Display};
use std::fs::File;
use std::io;
use std::num::NonZeroU64;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::path::Path;

use rustix::fs::{fadvise, Advice};
use serde::Deserialize;
use wire::{HostFailure, HostFailureKind};

use super::places::{data_of, looked_at, Part, END_BYTES};
use crate::command::{failure, said_by};
use crate::request::shown;

/// Write back and forget the cached pages of a device, `<linux/fs.h>`.
const BLKFLSBUF: libc::Ioctl = 0x1261;
const BLKZEROOUT: libc::Ioctl = 0x127F;
const CHUNK: usize = 1 << 20;
static ZEROS: [u8; 4 << 10] = [0; 4 << 10];
const WHAT: [(&str, &str); 12] = [
    ("LVM2_member", "a physical volume of LVM"),
    ("linux_raid_member", "a member of a RAID (md)"),
    ("isw_raid_member", "a member of a RAID (Intel)"),
    ("zfs_member", "a member of a ZFS pool"),
    ("bcache", "a member of bcache"),
    ("mpath_member", "a path of a multipath device"),
    ("crypto_LUKS", "an encrypted volume (LUKS)"),
    ("BitLocker", "an encrypted volume (BitLocker)"),
    ("swap", "swap space"),
    ("gpt", "a partition table (GPT)"),
    ("PMBR", "a partition table (protective MBR)"),
    ("dos", "a partition table (MBR)"),
];

/// What says that something is on a device.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Signature {
    #[serde(rename = "type")]
    kind: String,
    uuid: Option<String>,
    /// Hexadecimal.
    offset: String,
}

impl Signature {
    /// What tells it from others: its UUID; a boot sector or a table has none, but a place.
    pub fn mark(&self) -> String {
        match self.uuid.as_deref() {
            None | Some("") => format!("{} at {}", self.kind, self.offset),
            Some(uuid) => uuid.to_owned(),
        }
    }
}

/// As a clause takes it.
impl Display for Signature {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match WHAT.iter().find(|(kind, _)| *kind == self.kind) {
            Some((_, what)) => to.write_str(what)?,
            None => write!(to, "a file system or label of type {}", self.kind)?,
        }
        if let Some(uuid) = self.uuid.as_deref().filter(|uuid| !uuid.is_empty()) {
            write!(to, " {uuid}")?;
        }
        let digits = self.offset.trim_start_matches("0x");
        match u64::from_str_radix(digits, 16) {
            Ok(offset) => write!(to, " at byte {offset}"),
            Err(_) => write!(to, " at byte {}", self.offset),
        }
    }
}

/// All that libblkid knows, found by wipefs(8), which without `--all` only looks.
///
/// # Errors
/// The device, or file, cannot be read.
pub fn signatures(node: &Path) -> Result<Vec<Signature>, HostFailure> {
    let node = node.to_string_lossy();
    let said = said_by(&["wipefs", "--json", &node])?;
    match said.trim() {
        "" => Ok(Vec::new()),
        said => parsed(said).ok_or_else(|| {
            let text = format!("wipefs --json {node}: what it says is not understood");
            failure(HostFailureKind::Failed, shown(&text))
        }),
    }
}

fn parsed(said: &str) -> Option<Vec<Signature>> {
    #[derive(Deserialize)]
    struct Answer {
        signatures: Vec<Signature>,
    }
    Some(serde_json::from_str::<Answer>(said).ok()?.signatures)
}

/// Lets the next read see the device: file systems write to it beside its page cache.
///
/// # Errors
/// The device does not take it.
pub fn forget_cache(file: &File) -> io::Result<()> {
    // SAFETY: it takes no argument.
    match unsafe { libc::ioctl(file.as_raw_fd(), BLKFLSBUF, 0) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Place of a byte that is not zero, the first one in some parts; `None` if they are blank.
///
/// # Errors
/// A part cannot be read whole.
pub fn first_written(file: &File, parts: &[Part]) -> io::Result<Option<u64>> {
    if parts.len() > 1 {
        for (start, end) in parts {
            fadvise(file, *start, NonZeroU64::new(end - start), Advice::WillNeed)?;
        }
    }
    let mut buffer = vec![0; CHUNK];
    for (start, end) in parts {
        for at in (*start..*end).step_by(CHUNK) {
            let data = &mut buffer[..CHUNK.min((end - at) as usize)];
            file.read_exact_at(data, at).map_err(|error| {
                io::Error::new(error.kind(), format!("byte {at} cannot be read: {error}"))
            })?;
            let mut pieces = data.chunks(ZEROS.len());
            if pieces.any(|piece| *piece != ZEROS[..piece.len()]) {
                let place = data.iter().position(|byte| *byte != 0).unwrap_or(0);
                return Ok(Some(at + place as u64));
            }
        }
    }
    Ok(None)
}

/// Makes zero what is looked at, through to the device; the first mebibyte last.
///
/// So what says whose it is goes last, and a kill in between leaves what is known as ours. Of a loop
/// device all data go, whatever their size: its file is not let go, but reads as zeros.
///
/// # Errors
/// The device does not take it.
pub fn make_blank(file: &File, bytes: u64) -> io::Result<()> {
    let parts = match data_of(file)? {
        Some(data) => data,
        None => looked_at(file, bytes)?,
    };
    let rest = parts.into_iter().rev();
    let rest = rest.filter(|(_, end)| *end > END_BYTES);
    let rest = rest.map(|(start, end)| (start.max(END_BYTES), end));
    for (start, end) in rest.chain([(0, END_BYTES.min(bytes))]) {
        let is_little = end - start <= CHUNK as u64;
        if is_little && first_written(file, &[(start, end)])?.is_none() {
            continue;
        }
        let range = [start, end - start];
        // SAFETY: the kernel reads two numbers there.
        if unsafe { libc::ioctl(file.as_raw_fd(), BLKZEROOUT, range.as_ptr()) } != 0 {
            return Err(io::Error::last_os_error());
        }
        file.sync_all()?;
    }
    forget_cache(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signatures_are_told_by_what_they_are_of_and_known_by_a_uuid_or_a_place() {
        let said = r#"{"signatures": [
            {"device":"loop1","offset":"0x438","type":"ext4","uuid":"1-2","label":null},
            {"device":"loop1","offset":"0x1fe","type":"dos","uuid":null,"label":null}]}"#;
        let found = parsed(said).unwrap();
        let told: Vec<String> = found.iter().map(Signature::to_string).collect();
        let ext4 = "a file system or label of type ext4 1-2 at byte 1080";
        assert_eq!(told, [ext4, "a partition table (MBR) at byte 510"]);
        let marks: Vec<String> = found.iter().map(Signature::mark).collect();
        assert_eq!(marks, ["1-2", "dos at 0x1fe"]);
        for other in ["{}", "[]", "{\"signatures\": [{\"type\": \"ext4\"}]}", "x"] {
            assert_eq!(parsed(other), None, "{other}");
        }
    }

    #[test]
    fn the_first_byte_that_is_not_zero_is_found_wherever_it_is() {
        let file = tempfile::tempfile().unwrap();
        file.set_len(4 << 20).unwrap();
        let whole = [(0, 4 << 20)];
        assert_eq!(first_written(&file, &whole).unwrap(), None);
        for at in [(4 << 20) - 1, 1_234_567, 70_000, 0] {
            file.write_all_at(b"x", at).unwrap();
            assert_eq!(first_written(&file, &whole).unwrap(), Some(at));
        }
        let parts = [(1, 5), (1 << 20, 2 << 20)];
        assert_eq!(first_written(&file, &parts).unwrap(), Some(1_234_567));
        let beyond = first_written(&file, &[(4 << 20, 5 << 20)]).unwrap_err();
        assert!(
            beyond
                .to_string()
                .starts_with("byte 4194304 cannot be read: "),
            "{beyond}"
        );
    }
}
