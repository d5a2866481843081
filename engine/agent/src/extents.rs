//! Where a file lies on its device: its extents, as the file system tells them (FIEMAP).

use std::fs::File;
use std::io;
use std::mem::{size_of, zeroed};
use std::os::fd::AsRawFd;

/// `<linux/fiemap.h>`, Documentation/filesystems/fiemap.rst of the kernel.
const FS_IOC_FIEMAP: libc::Ioctl = 0xC020_660B_u32 as libc::Ioctl;
/// Extents that are asked for at a time.
pub const BATCH: usize = 256;
/// It is allocated and reads as zeros.
pub const UNWRITTEN: u32 = 0x800;

/// `struct fiemap`, with room for a number of extents.
#[repr(C)]
struct Fiemap {
    start: u64,
    bytes: u64,
    flags: u32,
    mapped: u32,
    room: u32,
    reserved: u32,
    extents: [Extent; BATCH],
}

/// `struct fiemap_extent`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Extent {
    /// In the file, in bytes.
    pub start: u64,
    /// On the device.
    pub physical: u64,
    pub bytes: u64,
    reserved_more: [u64; 2],
    pub flags: u32,
    reserved: [u32; 3],
}

const _: () = assert!(size_of::<Fiemap>() == 32 + BATCH * 56);

/// The next extents of a file, in order; less than a batch are the last ones. `None` where its file system
/// does not tell (tmpfs).
///
/// # Errors
/// It tells, but not of this one.
pub fn extents_from(file: &File, position: u64) -> io::Result<Option<Vec<Extent>>> {
    // SAFETY: all fields are numbers, for which zero is a value.
    let mut asked: Fiemap = unsafe { zeroed() };
    asked.start = position;
    asked.bytes = u64::MAX - position;
    asked.room = BATCH as u32;
    // SAFETY: the kernel fills in the extents that there is room for.
    if unsafe { libc::ioctl(file.as_raw_fd(), FS_IOC_FIEMAP, &raw mut asked) } == 0 {
        let mapped = (asked.mapped as usize).min(BATCH);
        return Ok(Some(asked.extents[..mapped].to_vec()));
    }
    let error = io::Error::last_os_error();
    match error.raw_os_error() {
        Some(libc::EOPNOTSUPP | libc::ENOTTY | libc::ENOSYS | libc::EINVAL) => Ok(None),
        _ => Err(error),
    }
}
