//! Out-of-cache access: each read test begins with the files evicted, goes through a page cache
//! too small for them, and is held against what the device delivered.

use std::ops::RangeInclusive;
use std::path::Path;
use std::thread;
use std::time::Duration;

use kit::failure::{bad_parameter, failure, io_failure};
use kit::{cache, proc, Device, MemoryGroup, Size};
use wire::{AccessKind, AccessVerdict, Failure, FailureKind};

/// Share of the bytes of each read test that the device must have delivered.
const DELIVERED_MIN: f64 = 0.90;
/// Share of a file that may be resident after it was evicted.
const RESIDENT_MAX: f64 = 0.01;
/// Pages that a read ahead is still filling cannot be evicted: it is waited for.
const EVICTION_TRIES: u32 = 100;
const EVICTION_PAUSE: Duration = Duration::from_millis(2);

/// Unless asked otherwise, the cache is this part of the files…
const FILES_PER_CACHE: u64 = 16;
/// …but no smaller than what reading ahead and metadata need.
const CACHE_MIN: Size = Size(4 << 20);
const CACHE_MAX: Size = Size(1 << 50);
/// What may be asked for.
pub const CACHE_LIMITS: RangeInclusive<Size> = CACHE_MIN..=CACHE_MAX;
/// Memory that the engine and the kernel need inside the group beside the cache…
const ENGINE_BYTES: u64 = 8 << 20;
/// …and for each thread as much again: stack, histogram, windows of reading ahead…
const THREAD_BYTES: u64 = 2 << 20;
/// …and this number of records, whose pages are locked while they are read and ahead of that. With less,
/// the kernel finds nothing to drop and kills.
const RECORDS_IN_FLIGHT: u64 = 2;

/// What a trial has in memory at once.
#[derive(Debug, Clone, Copy)]
pub struct Footprint {
    /// Bytes of all files that are read.
    pub files_bytes: u64,
    /// Threads or processes that move records.
    pub threads: u32,
    /// Bytes that each of them moves at once.
    pub record_bytes: u64,
    /// What each of them may yet allocate for itself: buffers and the like.
    pub thread_bytes: u64,
}

/// Help of the parameter `cache_limit`, the same in each workload that has it.
#[macro_export]
macro_rules! cache_limit_help {
    () => {
        "With access `out-of-cache`: how much the page cache may hold. Left out: a sixteenth of the \
         files, at least 4M. What the engine itself needs comes on top. No smaller than the \
         machine's memory: unbounded, which needs no root but files of several times the memory."
    };
}
pub use cache_limit_help;

/// `cache_limit` means something with out-of-cache access only.
///
/// # Errors
/// `BadJob`, naming the parameter.
pub fn check_cache_limit(access: AccessKind, asked: Option<Size>) -> Result<(), Failure> {
    if asked.is_some() && access != AccessKind::OutOfCache {
        let message = "parameter \"cache_limit\": the cache is only bounded with access \
                       \"out-of-cache\"; leave cache_limit out";
        return Err(bad_parameter("cache_limit", message));
    }
    Ok(())
}

/// Whether the device delivered enough of the `asked` bytes for a read that began with cold caches.
pub fn is_from_device(delivered: u64, asked: u64) -> bool {
    delivered as f64 >= DELIVERED_MIN * asked as f64
}

/// What is known of the cache so far.
#[derive(Debug, Default)]
pub struct Cold {
    group: Option<MemoryGroup>,
    /// Largest bound so far; memory itself when there was no need for a group.
    pub limit_bytes: Option<u64>,
    /// Largest share of a file that was resident before a read test.
    pub resident: Option<f64>,
    /// Smallest share of the bytes of a read test that the device delivered.
    pub delivered: Option<f64>,
}

impl Cold {
    /// Makes what will bound the page cache while files are read.
    ///
    /// # Errors
    /// `HostLacks` a memory group.
    pub fn bound(&mut self, asked: Option<Size>, footprint: Footprint) -> Result<(), Failure> {
        // Two at once would have the same name.
        self.group = None;
        let limit_bytes = cache_bytes(asked, footprint) + own_bytes(footprint);
        let granted_bytes = match proc::machine_memory_bytes() {
            // Memory itself is the bound: no group is needed, nor root.
            Some(memory_bytes) if limit_bytes >= memory_bytes => memory_bytes,
            _ => {
                let group = MemoryGroup::create(limit_bytes)?;
                self.group.insert(group).limit_bytes()
            }
        };
        self.limit_bytes = self.limit_bytes.max(Some(granted_bytes));
        Ok(())
    }

    /// The bound holds from now on, for pages that are not there yet.
    ///
    /// # Errors
    /// `HostLacks` the permission.
    pub fn enter(&mut self) -> Result<(), Failure> {
        self.group.as_mut().map_or(Ok(()), MemoryGroup::enter)
    }

    /// The bound holds no more.
    ///
    /// # Errors
    /// `HostLacks` the permission.
    pub fn leave(&mut self) -> Result<(), Failure> {
        self.group.as_mut().map_or(Ok(()), MemoryGroup::leave)
    }

    /// Empties the cache of `file`, and makes sure that it is.
    ///
    /// # Errors
    /// `Io`; the reason when pages stay.
    pub fn evict(&mut self, file: &Path) -> Result<Result<(), String>, Failure> {
        let failed = |error| io_failure("evict from the page cache", file, &error);
        let mut resident = 1.0;
        for _ in 0..EVICTION_TRIES {
            cache::evict(file).map_err(failed)?;
            resident = cache::resident(file).map_err(failed)?;
            if resident <= RESIDENT_MAX {
                break;
            }
            thread::sleep(EVICTION_PAUSE);
        }
        self.resident = Some(
            self.resident
                .map_or(resident, |before| before.max(resident)),
        );
        Ok(if resident <= RESIDENT_MAX {
            Ok(())
        } else {
            let held = 100.0 * resident;
            Err(format!(
                "{held:.1} % of the file stayed in the page cache when it was evicted before a \
                 read test; use a file system that keeps its files on a device"
            ))
        })
    }

    /// Notes a read test that asked for `asked` bytes, of which the device delivered `delivered`.
    pub fn note(&mut self, asked: u64, delivered: u64) {
        if asked > 0 {
            // What was read ahead, or to fill whole pages, is no reason to promise more.
            let share = (delivered as f64 / asked as f64).min(1.0);
            self.delivered = Some(self.delivered.map_or(share, |before| before.min(share)));
        }
    }

    /// Weighs what was noted.
    pub fn verdict(&self, device: Option<&Device>) -> (AccessVerdict, String) {
        let Some(delivered) = self.delivered else {
            let reason = "nothing was read in a timed region".to_owned();
            return (AccessVerdict::Unverified, reason);
        };
        if device.is_none() {
            let reason = "the page cache was emptied of each file before each read test, but \
                          there is no device to count reads of";
            return (AccessVerdict::Unverified, reason.to_owned());
        }
        let percent = 100.0 * delivered;
        if delivered < DELIVERED_MIN {
            let reason = format!(
                "in a read test the device delivered only {percent:.1} % of the bytes; use larger \
                 files or a smaller cache_limit, and contents that a file system cannot compress"
            );
            return (AccessVerdict::Contradicted, reason);
        }
        let bound = Size(self.limit_bytes.unwrap_or_default());
        let reason = format!(
            "the device delivered at least {percent:.1} % of the bytes of each read test, with a \
             page cache of no more than {bound}"
        );
        (AccessVerdict::Confirmed, reason)
    }
}

/// A loop device that caches its file gives what it has from memory.
///
/// # Errors
/// `HostLacks` a device that does not.
pub fn check_device(device: Option<&Device>) -> Result<(), Failure> {
    match device.filter(|device| device.is_cached_loop()) {
        None => Ok(()),
        Some(Device { name, .. }) => Err(failure(
            FailureKind::HostLacks,
            format!(
                "{name} reads its image through the page cache, so that nothing read from it is \
                 known to be out of cache; losetup --direct-io=on /dev/{name}"
            ),
        )),
    }
}

fn cache_bytes(asked: Option<Size>, footprint: Footprint) -> u64 {
    asked.map_or_else(
        || (footprint.files_bytes / FILES_PER_CACHE).max(CACHE_MIN.bytes()),
        Size::bytes,
    )
}

fn own_bytes(footprint: Footprint) -> u64 {
    let in_flight_bytes = RECORDS_IN_FLIGHT * footprint.record_bytes;
    let of_thread = THREAD_BYTES + in_flight_bytes + footprint.thread_bytes;
    ENGINE_BYTES + u64::from(footprint.threads) * of_thread
}

#[cfg(test)]
mod tests {
    use super::*;
    use testing::directory_on_disk;

    const MIB: u64 = 1 << 20;

    #[test]
    fn the_bound_is_a_sixteenth_of_the_files_beside_what_threads_need() {
        let footprint = |files_bytes| Footprint {
            files_bytes,
            threads: 4,
            record_bytes: MIB,
            thread_bytes: 3 * MIB,
        };
        assert_eq!(cache_bytes(None, footprint(1024 * MIB)), 64 * MIB);
        assert_eq!(cache_bytes(None, footprint(MIB)), 4 * MIB);
        let asked = Some(Size(5 * MIB));
        assert_eq!(cache_bytes(asked, footprint(1024 * MIB)), 5 * MIB);
        assert_eq!(own_bytes(footprint(MIB)), 36 * MIB);
    }

    #[test]
    fn a_limit_needs_the_access_that_it_bounds() {
        let parameter_at_fault = |access, limit| {
            let checked = check_cache_limit(access, limit);
            checked.err().and_then(|failure| failure.parameter)
        };
        let (cold, limit) = (AccessKind::OutOfCache, Some(Size(64 * MIB)));
        assert_eq!(parameter_at_fault(AccessKind::InCache, None), None);
        assert_eq!(parameter_at_fault(cold, limit), None);
        let refused = parameter_at_fault(AccessKind::InCache, limit);
        assert_eq!(refused.as_deref(), Some("cache_limit"));
    }

    #[test]
    fn the_worst_read_test_decides() {
        let device = Device::named("none");
        let of = |tests: &[[u64; 2]]| {
            let mut cold = Cold::default();
            for [asked, delivered] in tests {
                cold.note(*asked, *delivered);
            }
            cold.verdict(Some(&device))
        };
        assert_eq!(of(&[]).0, AccessVerdict::Unverified);
        assert_eq!(of(&[[100, 90], [100, 250]]).0, AccessVerdict::Confirmed);
        let (verdict, reason) = of(&[[100, 250], [100, 89]]);
        assert_eq!(verdict, AccessVerdict::Contradicted);
        assert!(reason.contains("89.0 %"), "{reason}");
    }

    #[test]
    fn without_a_device_nothing_is_claimed() {
        let mut cold = Cold::default();
        cold.note(100, 0);
        assert_eq!(cold.verdict(None).0, AccessVerdict::Unverified);
    }

    #[test]
    fn a_file_is_gone_from_the_cache_before_it_is_read() {
        let directory = directory_on_disk();
        let file = tempfile::NamedTempFile::new_in(directory.path()).unwrap();
        std::fs::write(file.path(), vec![1; MIB as usize]).unwrap();
        let mut cold = Cold::default();
        cold.evict(file.path()).unwrap().unwrap();
        assert_eq!(cold.resident, Some(0.0));
        assert_eq!(cache::resident(file.path()).unwrap(), 0.0);
    }

    #[test]
    fn memory_itself_may_be_the_bound() {
        let mut cold = Cold::default();
        let footprint = Footprint {
            files_bytes: 0,
            threads: 1,
            record_bytes: 0,
            thread_bytes: 0,
        };
        cold.bound(Some(CACHE_MAX), footprint).unwrap();
        assert_eq!(cold.limit_bytes, proc::machine_memory_bytes());
        assert!(cold.group.is_none());
    }
}
