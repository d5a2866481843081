//! The page cache of one file, and whether direct I/O would go around it.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::ptr;

use rustix::fs::{fadvise, statx, Advice, AtFlags, Mode, OFlags, StatxFlags, CWD};
use rustix::io::Errno;
use rustix::mm::{mmap, munmap, MapFlags, ProtFlags};
use wire::Direct;

use crate::clock;

/// The same number on every architecture; libc has no name for it yet.
const SYS_CACHESTAT: libc::c_long = 451;
/// Pages that mincore(2) is asked about at once.
const WINDOW_PAGES: u64 = 1 << 16;
/// Read at once to fill the page cache.
const FETCH_BYTES: usize = 1 << 20;
/// Accesses after which another one of the same page changes nothing any more, one included that
/// tells what such a one costs.
const SETTLED_AFTER: usize = 8;

/// Share of the file's pages that the page cache holds, 0 … 1; 1 for an empty file.
///
/// Asks cachestat(2) (Linux 6.5) first. Where that is missing, or sees fewer pages than there
/// are because the file is a facade for another (overlayfs), mincore(2) is asked.
///
/// # Errors
/// Those of open(2), mmap(2) and mincore(2).
pub fn resident(path: &Path) -> io::Result<f64> {
    let file = File::open(path)?;
    let page_bytes = rustix::param::page_size() as u64;
    let size_bytes = file.metadata()?.len();
    let pages = size_bytes.div_ceil(page_bytes);
    if pages == 0 {
        return Ok(1.0);
    }
    let held = match cachestat_pages(&file) {
        Ok(held) if held >= pages => held,
        Ok(held) => held.max(mincore_pages(&file, size_bytes)?),
        Err(_) => mincore_pages(&file, size_bytes)?,
    };
    Ok((held as f64 / pages as f64).min(1.0))
}

fn cachestat_pages(file: &File) -> io::Result<u64> {
    // `struct cachestat_range { off, len }`; a length of 0 means: to the end.
    let range = [0_u64, 0];
    // `struct cachestat { cache, dirty, writeback, evicted, recently_evicted }`, in pages.
    let mut counts = [0_u64; 5];
    // SAFETY: both structures have the layout that the kernel expects and live for the call.
    let status = unsafe {
        libc::syscall(
            SYS_CACHESTAT,
            file.as_raw_fd(),
            range.as_ptr(),
            counts.as_mut_ptr(),
            0,
        )
    };
    match status {
        0 => Ok(counts[0]),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Window by window, so that little memory is needed whatever the file's size.
fn mincore_pages(file: &File, size_bytes: u64) -> io::Result<u64> {
    let page_bytes = rustix::param::page_size() as u64;
    let window_bytes = WINDOW_PAGES * page_bytes;
    let mut states = vec![0_u8; WINDOW_PAGES as usize];
    let mut held = 0;
    for offset in (0..size_bytes).step_by(window_bytes as usize) {
        let length = window_bytes.min(size_bytes - offset);
        let states = &mut states[..length.div_ceil(page_bytes) as usize];
        mincore_window(file, offset, length as usize, states)?;
        held += states.iter().filter(|&&state| state & 1 == 1).count() as u64;
    }
    Ok(held)
}

fn mincore_window(file: &File, offset: u64, length: usize, states: &mut [u8]) -> io::Result<()> {
    // SAFETY: a new mapping that is never dereferenced; `states` has a byte per page; the
    // mapping is removed before anything else can see it.
    unsafe {
        let start = mmap(
            ptr::null_mut(),
            length,
            ProtFlags::READ,
            MapFlags::SHARED,
            file,
            offset,
        )?;
        let status = libc::mincore(start, length, states.as_mut_ptr());
        let error = io::Error::last_os_error();
        munmap(start, length)?;
        match status {
            0 => Ok(()),
            _ => Err(error),
        }
    }
}

/// Writes what is dirty of the file, and asks the kernel to drop its pages. Those in use by a
/// read that is under way stay.
///
/// # Errors
/// Those of open(2), fsync(2) and posix_fadvise(2).
pub fn evict(path: &Path) -> io::Result<()> {
    let file = File::open(path)?;
    file.sync_all()?;
    Ok(fadvise(&file, 0, None, Advice::DontNeed)?)
}

/// Reads all of the file, so that the page cache holds it if it can.
///
/// # Errors
/// Those of open(2) and read(2).
pub fn fetch(path: &Path) -> io::Result<()> {
    let mut file = File::open(path)?;
    let mut chunk = vec![0; FETCH_BYTES];
    while file.read(&mut chunk)? > 0 {}
    Ok(())
}

/// Reads a byte of each page, page after page, until the kernel has done with all of them what it
/// does at a page's first accesses alone: marked it, counted it, moved it to another list.
///
/// Those that age pages by generations (`MGLRU`) count up to five accesses, others three.
///
/// Returns the nanoseconds that were spent on the first accesses, beyond what as many later ones
/// cost.
///
/// # Errors
/// Those of open(2) and read(2).
pub fn settle(path: &Path) -> io::Result<u64> {
    let file = File::open(path)?;
    let size_bytes = file.metadata()?.len();
    let mut spent_ns = [0; SETTLED_AFTER];
    for pass_ns in &mut spent_ns {
        let begun_ns = clock::now_ns();
        for offset in (0..size_bytes).step_by(rustix::param::page_size()) {
            file.read_at(&mut [0], offset)?;
        }
        *pass_ns = clock::now_ns() - begun_ns;
    }
    let [.., last_ns] = spent_ns;
    let steady_ns = last_ns * SETTLED_AFTER as u64;
    Ok(spent_ns.iter().sum::<u64>().saturating_sub(steady_ns))
}

/// Whether the file system of this file does not even open it for direct I/O.
pub fn refuses_direct(path: &Path) -> bool {
    let opened = rustix::fs::open(path, OFlags::RDONLY | OFlags::DIRECT, Mode::empty());
    matches!(opened, Err(Errno::INVAL))
}

/// Alignment that direct I/O on this file needs, as statx(2) reports it (Linux 6.1); `None`
/// where kernel or file system do not say. Zero means that direct I/O is not done at all.
///
/// # Errors
/// Those of statx(2).
pub fn direct_alignment(path: &Path) -> io::Result<Option<Direct>> {
    let found = statx(CWD, path, AtFlags::empty(), StatxFlags::DIOALIGN)?;
    let answered = StatxFlags::from_bits_retain(found.stx_mask).contains(StatxFlags::DIOALIGN);
    Ok(answered.then_some(Direct {
        memory_align: found.stx_dio_mem_align,
        offset_align: found.stx_dio_offset_align,
    }))
}

#[cfg(test)]
mod tests {
    use std::io::{Seek, SeekFrom, Write};

    use super::*;

    const SIZE_BYTES: usize = 1 << 20;

    /// Beside the test itself, since the temporary directory may have nothing under its cache.
    fn written_file() -> tempfile::NamedTempFile {
        let test = std::env::current_exe().unwrap();
        let mut file = tempfile::NamedTempFile::new_in(test.parent().unwrap()).unwrap();
        file.write_all(&[1; SIZE_BYTES]).unwrap();
        file.as_file().sync_all().unwrap();
        file
    }

    #[test]
    fn what_was_evicted_is_fetched_again() {
        let file = written_file();
        evict(file.path()).unwrap();
        assert!(resident(file.path()).unwrap() < 1.0);
        fetch(file.path()).unwrap();
        assert_eq!(resident(file.path()).unwrap(), 1.0);
    }

    #[test]
    fn a_file_just_written_is_resident_until_evicted() {
        let file = written_file();
        assert_eq!(resident(file.path()).unwrap(), 1.0);
        evict(file.path()).unwrap();
        assert!(resident(file.path()).unwrap() < 0.5);
    }

    #[test]
    fn mincore_agrees_with_cachestat() {
        let file = written_file();
        let pages = SIZE_BYTES as u64 / rustix::param::page_size() as u64;
        let seen = mincore_pages(file.as_file(), SIZE_BYTES as u64).unwrap();
        assert_eq!(seen, pages);
        if let Ok(counted) = cachestat_pages(file.as_file()) {
            assert_eq!(counted, pages);
        }
    }

    #[test]
    fn a_file_larger_than_a_window_is_counted_to_its_end() {
        let mut file = written_file();
        let page_bytes = rustix::param::page_size() as u64;
        // Sparse; only its ends are ever touched.
        let size_bytes = (WINDOW_PAGES + 1) * page_bytes;
        file.as_file().set_len(size_bytes - 1).unwrap();
        file.seek(SeekFrom::End(-1)).unwrap();
        file.write_all(&[1]).unwrap();
        let pages = SIZE_BYTES as u64 / page_bytes + 1;
        let seen = mincore_pages(file.as_file(), size_bytes - 1).unwrap();
        assert_eq!(seen, pages);
    }

    #[test]
    fn an_alignment_is_a_power_of_two_or_zero() {
        let file = written_file();
        if let Some(direct) = direct_alignment(file.path()).unwrap() {
            let align = direct.offset_align;
            assert!(align == 0 || align.is_power_of_two(), "{direct:?}");
        }
    }
}
