//! In-cache access: each read test begins with the files in the page cache, and is held against
//! what the device delivered all the same.

use std::path::Path;

use kit::failure::io_failure;
use kit::{cache, settling};
use wire::{AccessVerdict, Failure};

/// Share of a file that must be resident before a read from the cache.
const RESIDENT_MIN: f64 = 0.99;
/// A kernel that reclaims memory all the time may take pages again before they are looked at.
const FETCHES_MAX: u32 = 10;
/// Share of the bytes read that may yet come from the device.
const MISS_MAX: f64 = 0.05;
/// So much may be read from a device that others use too, beside the share above.
const OTHERS_BYTES: u64 = 256 << 10;

/// What is known of the cache so far.
#[derive(Debug, Default)]
pub struct Warm {
    /// Smallest share of a file that was resident when a read test began.
    pub resident: Option<f64>,
    /// Largest share of a file that was lacking before, and was read in.
    lacking: f64,
    /// Spent, untimed, on the first accesses of pages by reads, where those are settled.
    first_touches_ns: Option<u64>,
}

impl Warm {
    /// Reads in what the cache lacks of `file` and makes sure that nothing is lacking. Where it is
    /// asked for, its pages are no news to the kernel either: some do work at the first reads of
    /// a page, so that an operation would cost the less the more of them there are.
    ///
    /// What was written or read a moment ago may be gone: kernels also reclaim memory while there
    /// is enough (DAMON).
    ///
    /// # Errors
    /// `Io`; the reason when pages are lacking all the same, or residency cannot be read.
    pub fn fill(&mut self, file: &Path) -> Result<Result<(), String>, Failure> {
        let measured = || cache::resident(file).map_err(|error| unreadable(&error));
        let mut resident = match measured() {
            Ok(resident) => resident,
            Err(reason) => return Ok(Err(reason)),
        };
        self.lacking = self.lacking.max(1.0 - resident);
        for _ in 0..FETCHES_MAX {
            if resident == 1.0 {
                break;
            }
            cache::fetch(file)
                .map_err(|error| io_failure("fetch into the page cache", file, &error))?;
            resident = match measured() {
                Ok(resident) => resident,
                Err(reason) => return Ok(Err(reason)),
            };
        }
        self.note(resident);
        if settling::is_wanted() {
            let spent_ns = cache::settle(file)
                .map_err(|error| io_failure("read in the page cache", file, &error))?;
            *self.first_touches_ns.get_or_insert(0) += spent_ns;
        }
        Ok(enough(resident))
    }

    /// What first accesses cost as a counter of the trial; none where they were not settled.
    pub fn counter(&self) -> Option<(String, u64)> {
        Some(("FirstTouchesNs".to_owned(), self.first_touches_ns?))
    }

    /// Notes what a read test finds.
    pub fn note(&mut self, resident: f64) {
        let before = self.resident.unwrap_or(resident);
        self.resident = Some(before.min(resident));
    }

    /// Weighs what the device delivered of the bytes that were read, where that is counted.
    pub fn verdict(&self, asked: u64, delivered: Option<u64>) -> (AccessVerdict, String) {
        let Some(resident) = self.resident else {
            let reason = "nothing was read in a timed region".to_owned();
            return (AccessVerdict::Unverified, reason);
        };
        let held = format!(
            "the page cache held {:.1} % of the file before each read test{}",
            100.0 * resident,
            self.lacking_text()
        );
        let Some(delivered) = delivered else {
            let reason = format!("{held}; there is no device to count reads of");
            return (AccessVerdict::Confirmed, reason);
        };
        let allowed = (MISS_MAX * asked as f64) as u64;
        let verdict = if delivered <= allowed.max(OTHERS_BYTES) {
            AccessVerdict::Confirmed
        } else {
            AccessVerdict::Contradicted
        };
        let reason = format!("{held}, and the device delivered {delivered} of {asked} bytes read");
        (verdict, reason)
    }

    fn lacking_text(&self) -> String {
        if self.lacking == 0.0 {
            return String::new();
        }
        let lacking = 100.0 * self.lacking;
        format!(" (up to {lacking:.1} % was lacking and was read in, untimed)")
    }
}

fn unreadable(error: &std::io::Error) -> String {
    format!("residency cannot be read: {error}")
}

fn enough(resident: f64) -> Result<(), String> {
    if resident >= RESIDENT_MIN {
        return Ok(());
    }
    let held = 100.0 * resident;
    Err(format!(
        "only {held:.1} % of the file was in the page cache before a read test, though all of it \
         had been read; use a smaller file or more memory, and see that nothing else on this \
         host drops its caches"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use testing::directory_on_disk;

    const MIB: u64 = 1 << 20;

    #[test]
    fn what_the_cache_lacks_is_read_in_and_reported() {
        let directory = directory_on_disk();
        let file = tempfile::NamedTempFile::new_in(directory.path()).unwrap();
        std::fs::write(file.path(), vec![1; MIB as usize]).unwrap();
        cache::evict(file.path()).unwrap();
        let mut warm = Warm::default();
        warm.fill(file.path()).unwrap().unwrap();
        assert_eq!(warm.resident, Some(1.0));
        let (verdict, reason) = warm.verdict(MIB, Some(0));
        assert_eq!(verdict, AccessVerdict::Confirmed);
        assert!(reason.contains("100.0 % was lacking"), "{reason}");
    }

    #[test]
    fn what_is_there_is_not_read_again() {
        let file = tempfile::NamedTempFile::new_in("/dev/shm").unwrap();
        std::fs::write(file.path(), [1; 4096]).unwrap();
        let mut warm = Warm::default();
        warm.fill(file.path()).unwrap().unwrap();
        let (_, reason) = warm.verdict(4096, None);
        assert!(!reason.contains("lacking"), "{reason}");
    }

    #[test]
    fn a_file_that_the_cache_does_not_hold_is_noticed() {
        assert_eq!(enough(RESIDENT_MIN), Ok(()));
        let reason = enough(0.98).unwrap_err();
        assert!(reason.starts_with("only 98.0 % of the file"), "{reason}");
    }

    #[test]
    fn unreadable_residency_is_a_reason() {
        let gone = Warm::default().fill(Path::new("/nonesuch")).unwrap();
        assert!(gone.unwrap_err().starts_with("residency cannot be read"));
    }
}
