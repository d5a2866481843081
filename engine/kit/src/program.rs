//! The program itself, in memory before anything is timed. Its pages come from a disk when they
//! are first used: that would take time in a timed region, and look like reads of the trial.

use std::ffi::c_void;
use std::fs;
use std::hint::black_box;
use std::ptr;
use std::sync::Once;

use rustix::mm::{madvise, Advice};

/// At one call the kernel fetches no more than it reads ahead on a device.
const CHUNK_BYTES: usize = 128 << 10;

/// Sees to it that the page cache holds all that this process has mapped of its program and
/// libraries. What the kernel refuses to fetch is left out.
pub fn fetch() {
    let mut lacking = own_mappings();
    lacking.retain(|mapping| !mapping.missing().is_empty());
    lacking.iter().for_each(Mapping::begin_to_fetch);
    lacking.iter().for_each(Mapping::wait);
}

/// As [`fetch`], at the first call; others wait for that one.
pub fn fetch_once() {
    static FETCHED: Once = Once::new();
    FETCHED.call_once(fetch);
}

/// Addresses that begin a page, and bytes up to the end of one.
#[derive(Debug, PartialEq, Eq)]
struct Mapping {
    start: usize,
    length: usize,
}

impl Mapping {
    fn begin_to_fetch(&self) {
        for offset in (0..self.length).step_by(CHUNK_BYTES) {
            let first = (self.start + offset) as *mut c_void;
            let length = CHUNK_BYTES.min(self.length - offset);
            // SAFETY: the advice changes nothing of what the pages hold.
            let _ = unsafe { madvise(first, length, Advice::WillNeed) };
        }
    }

    /// Uses the pages that are not there yet.
    fn wait(&self) {
        for address in self.missing() {
            // SAFETY: a program's own mappings are readable for as long as it lives.
            black_box(unsafe { ptr::read_volatile(address as *const u8) });
        }
    }

    /// Addresses of pages that are not resident, according to mincore(2).
    fn missing(&self) -> Vec<usize> {
        let page_bytes = rustix::param::page_size();
        let mut states = vec![1_u8; self.length.div_ceil(page_bytes)];
        // SAFETY: `states` has a byte per page; when it fails, they stay as they are.
        unsafe { libc::mincore(self.start as *mut c_void, self.length, states.as_mut_ptr()) };
        let is_missing = |page: &usize| states[*page] & 1 == 0;
        let missing = (0..states.len()).filter(is_missing);
        missing.map(|page| self.start + page * page_bytes).collect()
    }
}

/// Programs and libraries are mapped privately; files that are measured are shared.
fn own_mappings() -> Vec<Mapping> {
    let maps = fs::read_to_string("/proc/self/maps").unwrap_or_default();
    maps.lines().filter_map(parse_mapping).collect()
}

/// A line of proc_pid_maps(5), `START-END PERMISSIONS OFFSET DEVICE INODE PATH`, if it is of a
/// file that is mapped privately and may be read.
fn parse_mapping(line: &str) -> Option<Mapping> {
    let mut fields = line.split_ascii_whitespace();
    let (start, end) = fields.next()?.split_once('-')?;
    let permissions = fields.next()?;
    let inode = fields.nth(2)?;
    if !permissions.starts_with('r') || !permissions.ends_with('p') || inode == "0" {
        return None;
    }
    let [start, end] = [start, end].map(|address| usize::from_str_radix(address, 16).ok());
    let (start, end) = (start?, end?);
    Some(Mapping {
        start,
        length: end.checked_sub(start)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cache;

    #[test]
    fn nothing_of_a_program_that_was_evicted_is_missing_when_it_was_fetched() {
        // What is mapped at this moment stays.
        cache::evict(&std::env::current_exe().unwrap()).unwrap();
        fetch();
        for mapping in own_mappings() {
            assert_eq!(mapping.missing(), [0_usize; 0], "{mapping:?}");
        }
    }

    #[test]
    fn only_what_is_mapped_privately_from_a_file_and_readable_counts() {
        let line = "7f00-9f00 r-xp 00001000 fe:00 42   /bin/a program";
        let mapping = Mapping {
            start: 0x7f00,
            length: 0x2000,
        };
        assert_eq!(parse_mapping(line), Some(mapping));
        for other in [
            "7f00-9f00 rw-s 00001000 fe:00 42 /tmp/measured",
            "7f00-9f00 ---p 00001000 fe:00 42 /bin/a",
            "7f00-9f00 rw-p 00000000 00:00 0 [heap]",
            "7f00-9f00 r-xp",
            "",
        ] {
            assert_eq!(parse_mapping(other), None, "{other}");
        }
    }
}
