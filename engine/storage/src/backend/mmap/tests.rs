//! Faults that mapped memory raises; what all backends promise is checked in tests/backends.rs.

use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;

use super::*;

const PAGE_BYTES: usize = 4_096;

fn sized(size_bytes: u64) -> (tempfile::NamedTempFile, MmapFile) {
    let file = tempfile::NamedTempFile::new().unwrap();
    file.as_file().set_len(size_bytes).unwrap();
    let path = CString::new(file.path().as_os_str().as_bytes()).unwrap();
    let mapped = Mmap::default()
        .open(&path, OFlags::RDWR, Mode::empty())
        .unwrap();
    (file, mapped)
}

#[test]
fn what_is_written_through_the_mapping_is_in_the_file() {
    let (file, mut mapped) = sized(2 * PAGE_BYTES as u64);
    assert_eq!(mapped.write_at(b"word", 4_094).unwrap(), 4);
    let mut word = [0; 8];
    assert_eq!(mapped.read_at(&mut word, 4_092).unwrap(), 8);
    assert_eq!(&word, b"\0\0word\0\0");
    let last = mapped.read_at(&mut word, 2 * PAGE_BYTES as u64 - 3);
    assert_eq!(last.unwrap(), 3, "up to the end");
    assert_eq!(mapped.read_at(&mut word, 1 << 40).unwrap(), 0, "behind it");
    mapped.sync().unwrap();
    mapped.close().unwrap();
    let found = std::fs::read(file.path()).unwrap();
    assert_eq!(&found[4_094..4_098], b"word");
    assert_eq!(found.len(), 2 * PAGE_BYTES);
}

/// The same signal as on a full disk or a bad sector.
#[test]
fn a_page_that_is_gone_is_an_error_and_the_process_lives() {
    let (file, mut mapped) = sized(4 * PAGE_BYTES as u64);
    file.as_file().set_len(PAGE_BYTES as u64).unwrap();
    let mut record = [1; 2 * PAGE_BYTES];
    let error = mapped.read_at(&mut record, 0).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
    let first = mapped.read_at(&mut record[..8], 0);
    assert_eq!(first.unwrap(), 8, "what is there can still be read");
}

#[test]
fn a_full_disk_is_told_as_such() {
    // Filling a file system needs root; what the kernel answers is passed on.
    let asked = MmapFile::why(|_| Err(io::Error::from_raw_os_error(libc::ENOSPC)), 1);
    assert_eq!(asked.raw_os_error(), Some(libc::ENOSPC));
    let unexplained = MmapFile::why(|moved| Ok(8 - moved), 8);
    assert_eq!(unexplained.raw_os_error(), Some(libc::EIO));
}
