//! Where the bytes of a device are in the end: a range of a file or a disk.
//!
//! Two loop devices over one file, or a partition and a loop device over its disk, are different devices
//! to the kernel, and what is written to one is written to the other.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileTypeExt;

use super::identity::{
    backing_file, below, disk_entry, entry_of, node_of, number, number_holding, text_of,
    SECTOR_BYTES,
};

/// `<linux/loop.h>`
const LOOP_GET_STATUS64: libc::Ioctl = 0x4C05;

/// What bytes are in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Base {
    /// By device and inode.
    File(u64, u64),
    /// A device that is no range of another one, by its number.
    Device(String),
}

/// Bytes of a file or a disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Range {
    pub base: Base,
    pub start: u64,
    pub end: u64,
}

impl Range {
    /// Whether a byte is in both.
    pub fn overlaps(&self, other: &Self) -> bool {
        self.base == other.base && self.start < other.end && other.start < self.end
    }
}

/// Where a device lies, through partitions and loop devices.
///
/// # Errors
/// It is gone, or is a loop device that may not be asked.
pub fn range_of(number: &str) -> io::Result<Range> {
    Ok(downwards(number)?.1)
}

/// Numbers of the devices that a device is a range of, itself among them.
///
/// # Errors
/// As those of [`range_of`].
pub fn passed_through(number: &str) -> io::Result<BTreeSet<String>> {
    Ok(downwards(number)?.0)
}

/// All that a device lies on: its own range, members, and the device that holds its image; what has gone
/// meanwhile is left out.
///
/// # Errors
/// It is not known what holds an image.
pub fn lies_on(number: &str) -> io::Result<Vec<Range>> {
    let Ok((passed, own)) = downwards(number) else {
        return Ok(Vec::new());
    };
    let mut found = vec![own];
    for entry in passed.iter().filter_map(|one| entry_of(one)) {
        for member in below(&entry.join("slaves")) {
            if let Some(number) = text_of(&member.join("dev")) {
                found.extend(lies_on(&number)?);
            }
        }
        let image = backing_file(&node_of(&entry));
        let is_device = |kind: fs::Metadata| kind.file_type().is_block_device();
        if let Some(image) = image.filter(|image| !fs::metadata(image).is_ok_and(is_device)) {
            if let Some(holder) = number_holding(&image)? {
                found.extend(lies_on(&holder)?);
            }
        }
    }
    Ok(found)
}

/// The devices that the same bytes are in, and what they are in at last.
fn downwards(from: &str) -> io::Result<(BTreeSet<String>, Range)> {
    let mut passed = BTreeSet::new();
    let mut base = Base::Device(from.to_owned());
    let mut start = 0;
    let mut bytes = None;
    while let Base::Device(number) = &base {
        passed.insert(number.clone());
        let entry = entry_of(number).ok_or(ErrorKind::NotFound)?;
        let sectors = |name: &str| -> io::Result<u64> {
            let text = fs::read_to_string(entry.join(name))?;
            let count = text.trim().parse::<u64>().map_err(io::Error::other)?;
            Ok(count * SECTOR_BYTES)
        };
        if bytes.is_none() {
            bytes = Some(sectors("size")?);
        }
        if entry.join("partition").exists() {
            start += sectors("start")?;
            let of_disk = text_of(&disk_entry(&entry).join("dev"));
            base = Base::Device(of_disk.ok_or(ErrorKind::NotFound)?);
        } else if entry.join("loop/backing_file").exists() {
            let (below, offset) = behind(&node_of(&entry))?;
            (base, start) = (below, start + offset);
        } else {
            break;
        }
    }
    let end = start + bytes.unwrap_or(0);
    Ok((passed, Range { base, start, end }))
}

/// What a loop device has behind it, and at which of its bytes it begins.
///
/// The kernel knows the file also where its name has gone, or means another file by now.
fn behind(node: &str) -> io::Result<(Base, u64)> {
    // `struct loop_info64`: device, inode, number of a block device, offset, limit, and more.
    let mut told = [0_u64; 29];
    let file = File::open(node)?;
    // SAFETY: the kernel writes a `struct loop_info64` there, which has 232 bytes.
    let done = unsafe { libc::ioctl(file.as_raw_fd(), LOOP_GET_STATUS64, told.as_mut_ptr()) };
    if done != 0 {
        return Err(io::Error::last_os_error());
    }
    let [device, inode, block, offset, ..] = told;
    Ok(match block {
        0 => (Base::File(device, inode), offset),
        block => (Base::Device(number(block)), offset),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_of_one_base_are_compared() {
        let range = |base: &Base, start, end| Range {
            base: base.clone(),
            start,
            end,
        };
        let [one, other] = [Base::File(1, 2), Base::File(1, 3)];
        assert!(range(&one, 0, 10).overlaps(&range(&one, 9, 20)));
        assert!(range(&one, 9, 20).overlaps(&range(&one, 0, 10)));
        assert!(!range(&one, 0, 10).overlaps(&range(&one, 10, 20)));
        assert!(!range(&one, 0, 10).overlaps(&range(&other, 0, 10)));
        assert!(!range(&one, 5, 5).overlaps(&range(&other, 0, 10)));
    }

    #[test]
    fn what_is_gone_lies_on_nothing() {
        assert!(range_of("9999:9").is_err());
        assert_eq!(lies_on("9999:9").unwrap(), []);
    }
}
