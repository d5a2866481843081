//! Evidence for the declared access: what the page cache held, and what the device moved while
//! records were timed.

mod cold;
mod warm;

use std::path::Path;

use kit::device::Counters;
use kit::failure::{bad_parameter, failure};
use kit::{cache, proc, program, Device, EventSink, Size};
use rustix::fs::OFlags;
use wire::{Access, AccessKind, AccessVerdict, Direct, Failure, FailureKind};

pub use self::cold::cache_limit_help;
use self::cold::Cold;
pub use self::cold::{check_cache_limit, is_from_device, Footprint, CACHE_LIMITS};
use self::warm::Warm;

/// Share of the bytes moved that the device must have seen when direct access is declared.
const DIRECT_MIN: f64 = 0.90;

/// Gathers evidence pass by pass.
pub struct Evidence {
    declared: AccessKind,
    device: Option<Device>,
    read_bytes: u64,
    written_bytes: u64,
    moved: Counters,
    direct: Option<Direct>,
    warm: Warm,
    cold: Cold,
    contradiction: Option<String>,
}

impl Evidence {
    /// For a trial in `directory`.
    pub fn new(declared: AccessKind, directory: &Path) -> Self {
        // What this process reads is counted; its own pages are none of the trial.
        program::fetch_once();
        Self {
            declared,
            device: Device::under(directory),
            read_bytes: 0,
            written_bytes: 0,
            moved: Counters::default(),
            direct: None,
            warm: Warm::default(),
            cold: Cold::default(),
            contradiction: None,
        }
    }

    /// Whether `file` and its file system do direct I/O with such records, where that is
    /// declared. `parameter` is the one that gave their size.
    ///
    /// # Errors
    /// `Access` when they say that they do not; `BadJob` when the record is not aligned.
    pub fn check_direct(
        &mut self,
        file: &Path,
        parameter: &str,
        record: Size,
    ) -> Result<(), Failure> {
        if self.declared != AccessKind::Direct {
            return Ok(());
        }
        if cache::refuses_direct(file) {
            return Err(self.contradicted("the file system refuses to open files with O_DIRECT"));
        }
        self.direct = cache::direct_alignment(file).unwrap_or_default();
        match self.direct {
            Some(direct) if direct.offset_align == 0 => {
                Err(self.contradicted("the file system says (statx) that it does no direct I/O"))
            }
            Some(direct) if !record.bytes().is_multiple_of(direct.offset_align.into()) => {
                Err(unaligned(parameter, record, direct.offset_align.into()))
            }
            _ if self.device.is_none() => Err(self.contradicted(
                "there is no block device whose counters could confirm direct I/O; use a file \
                 system on a block device",
            )),
            _ => Ok(()),
        }
    }

    /// Prepares to bound the page cache, where out-of-cache access is declared, for files and
    /// threads of this `footprint`: `limit` is what the job asked for.
    ///
    /// # Errors
    /// `HostLacks` a way to bound it, or a device that keeps nothing in memory itself.
    pub fn bound_cache(
        &mut self,
        limit: Option<Size>,
        footprint: Footprint,
    ) -> Result<(), Failure> {
        if self.declared != AccessKind::OutOfCache {
            return Ok(());
        }
        cold::check_device(self.device.as_ref())?;
        self.cold.bound(limit, footprint)
    }

    /// Makes sure, before `file` is read, that the cache holds all of it, or nothing, as
    /// declared.
    ///
    /// # Errors
    /// `Access` when it does not; `Io`.
    pub fn prepare_read(&mut self, file: &Path) -> Result<(), Failure> {
        match self.declared {
            AccessKind::InCache => {
                let filled = self.warm.fill(file)?;
                filled.map_err(|reason| self.contradicted(&reason))
            }
            AccessKind::OutOfCache => {
                let evicted = self.cold.evict(file)?;
                evicted.map_err(|reason| self.contradicted(&reason))
            }
            AccessKind::Direct => Ok(()),
            AccessKind::AsFound => {
                // Without residency there is less to report.
                if let Ok(resident) = cache::resident(file) {
                    self.warm.note(resident);
                }
                Ok(())
            }
        }
    }

    /// Until the next [`Evidence::add`] nothing is written: the page cache is bounded meanwhile,
    /// where that is declared.
    ///
    /// # Errors
    /// `HostLacks` the permission.
    pub fn begin_read(&mut self) -> Result<(), Failure> {
        self.cold.enter()
    }

    /// The device's counters, for [`Evidence::add`]. Reads through the page cache are those of
    /// this process alone where the kernel counts them, so that reads of others are not included.
    pub fn counters(&self) -> Option<Counters> {
        let counters = self.device.as_ref()?.counters()?;
        let own = proc::fetched_bytes().filter(|_| self.declared != AccessKind::Direct);
        Some(Counters {
            read_bytes: own.unwrap_or(counters.read_bytes),
            ..counters
        })
    }

    /// Adds a timed pass that moved `bytes`, with the counters from before and after it.
    pub fn add(&mut self, is_read: bool, bytes: u64, around: [Option<Counters>; 2]) {
        if let Err(failure) = self.cold.leave() {
            self.contradiction = Some(failure.message);
        }
        let moved = match around {
            [Some(before), Some(after)] => after.since(before),
            _ => Counters::default(),
        };
        if is_read {
            self.read_bytes += bytes;
            self.moved.read_bytes += moved.read_bytes;
            self.cold.note(bytes, moved.read_bytes);
        } else {
            self.written_bytes += bytes;
            self.moved.written_bytes += moved.written_bytes;
        }
    }

    /// Gathers evidence, where there is any, around `work`, which reads `files` and, unless it
    /// `only_reads`, writes; `moved` gives the bytes that it read and wrote, where it does either.
    ///
    /// # Errors
    /// Those of `work`; `Access` when the cache is not in the declared state.
    pub fn around<'p, T>(
        evidence: &mut Option<&mut Self>,
        (files, only_reads): (impl IntoIterator<Item = &'p Path>, bool),
        work: impl FnOnce() -> Result<T, Failure>,
        moved: impl FnOnce(&T) -> [Option<u64>; 2],
    ) -> Result<T, Failure> {
        let Some(evidence) = evidence else {
            return work();
        };
        let before = evidence.begin(&mut files.into_iter(), only_reads)?;
        let outcome = work()?;
        evidence.end(before, moved(&outcome));
        Ok(outcome)
    }

    /// Prepares to read `files`; gives the counters from before the work.
    fn begin(
        &mut self,
        files: &mut dyn Iterator<Item = &Path>,
        only_reads: bool,
    ) -> Result<Option<Counters>, Failure> {
        for file in files {
            self.prepare_read(file)?;
        }
        if only_reads {
            self.begin_read()?;
        }
        Ok(self.counters())
    }

    /// Adds the bytes that were read and written since.
    fn end(&mut self, before: Option<Counters>, moved: [Option<u64>; 2]) {
        let around = [before, self.counters()];
        for (is_read, bytes) in [true, false].into_iter().zip(moved) {
            if let Some(bytes) = bytes {
                self.add(is_read, bytes, around);
            }
        }
    }

    /// The failure of a trial whose access was not what was declared.
    pub fn contradicted(&mut self, reason: &str) -> Failure {
        self.contradiction = Some(reason.to_owned());
        refuted(self.declared, reason)
    }

    /// Weighs everything.
    pub fn conclude(self) -> Access {
        let (verdict, reason) = self.verdict();
        let is_cold = self.declared == AccessKind::OutOfCache;
        let counted = self.device.is_some();
        Access {
            declared: self.declared,
            verdict,
            reason,
            read_bytes: self.read_bytes,
            device_read_bytes: counted.then_some(self.moved.read_bytes),
            written_bytes: self.written_bytes,
            device_written_bytes: counted.then_some(self.moved.written_bytes),
            resident: self.warm.resident.or(self.cold.resident),
            delivered: self.cold.delivered.filter(|_| is_cold && counted),
            memory_limit_bytes: self.cold.limit_bytes,
            direct: self.direct,
        }
    }

    /// Weighs everything at the end of a trial whose work ended as `outcome` says, and hands it
    /// over.
    ///
    /// # Errors
    /// That of `outcome`; otherwise `Access` when the declared access is contradicted.
    pub fn end_trial(
        self,
        outcome: Result<(), Failure>,
        event_sink: &mut EventSink,
    ) -> Result<(), Failure> {
        event_sink.totals.counters.extend(self.warm.counter());
        let access = event_sink.totals.access.insert(self.conclude());
        outcome?;
        match access.verdict {
            AccessVerdict::Contradicted => Err(refuted(access.declared, &access.reason)),
            AccessVerdict::Confirmed | AccessVerdict::Unverified => Ok(()),
        }
    }

    fn verdict(&self) -> (AccessVerdict, String) {
        if let Some(reason) = &self.contradiction {
            return (AccessVerdict::Contradicted, reason.clone());
        }
        match self.declared {
            AccessKind::InCache => self.cached_verdict(),
            AccessKind::OutOfCache => self.cold.verdict(self.device.as_ref()),
            AccessKind::Direct => self.direct_verdict(),
            AccessKind::AsFound => (AccessVerdict::Unverified, self.found()),
        }
    }

    fn cached_verdict(&self) -> (AccessVerdict, String) {
        let delivered = self.device.is_some().then_some(self.moved.read_bytes);
        self.warm.verdict(self.read_bytes, delivered)
    }

    fn found(&self) -> String {
        let held = self.warm.resident.map_or(String::new(), |resident| {
            format!(
                "; the page cache held {:.1} % of the file or more before each read test",
                100.0 * resident
            )
        });
        let (asked, delivered) = (self.read_bytes, self.moved.read_bytes);
        let device = match self.device {
            Some(_) => format!("; the device delivered {delivered} of {asked} bytes read"),
            None => String::new(),
        };
        format!("no state of the page cache was asked for{held}{device}")
    }

    fn direct_verdict(&self) -> (AccessVerdict, String) {
        let enough = |moved: u64, asked: u64| moved as f64 >= DIRECT_MIN * asked as f64;
        let confirmed = enough(self.moved.read_bytes, self.read_bytes)
            && enough(self.moved.written_bytes, self.written_bytes);
        let verdict = if confirmed {
            AccessVerdict::Confirmed
        } else {
            AccessVerdict::Contradicted
        };
        let reason = format!(
            "the device delivered {} of {} bytes read and took {} of {} bytes written",
            self.moved.read_bytes, self.read_bytes, self.moved.written_bytes, self.written_bytes
        );
        (verdict, reason)
    }
}

/// Flags of open(2) that the declared access adds.
pub fn open_flags(access: AccessKind) -> OFlags {
    match access {
        AccessKind::InCache | AccessKind::OutOfCache | AccessKind::AsFound => OFlags::empty(),
        AccessKind::Direct => OFlags::DIRECT,
    }
}

/// Direct I/O on this target needs a `parameter` that is a multiple of `align_bytes`.
pub fn unaligned(parameter: &str, size: Size, align_bytes: u64) -> Failure {
    bad_parameter(
        parameter,
        format!(
            "parameter \"{parameter}\": {size} is not a multiple of {align_bytes} bytes, \
             which direct access needs here"
        ),
    )
}

/// The failure that a contradicted verdict is.
pub fn refuted(declared: AccessKind, reason: &str) -> Failure {
    let declared = match declared {
        AccessKind::InCache => "in-cache",
        AccessKind::OutOfCache => "out-of-cache",
        AccessKind::Direct => "direct",
        AccessKind::AsFound => "as-found",
    };
    failure(
        FailureKind::Access,
        format!("access was declared {declared}, but {reason}"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn evidence(declared: AccessKind, read: [u64; 2], written: [u64; 2]) -> Evidence {
        let mut evidence = Evidence::new(declared, Path::new("/proc"));
        evidence.device = Some(Device::named("none"));
        for (is_read, [asked, moved]) in [(true, read), (false, written)] {
            let after = Counters {
                read_bytes: moved,
                written_bytes: moved,
            };
            evidence.add(is_read, asked, [Some(Counters::default()), Some(after)]);
        }
        evidence
    }

    fn verdict(evidence: Evidence) -> AccessVerdict {
        evidence.conclude().verdict
    }

    const MIB: u64 = 1 << 20;

    #[test]
    fn what_was_not_asked_for_is_reported_and_not_judged() {
        let file = tempfile::NamedTempFile::new_in(".").unwrap();
        let mut evidence = evidence(AccessKind::AsFound, [MIB, MIB], [0, 0]);
        evidence.prepare_read(file.path()).unwrap();
        let access = evidence.conclude();
        assert_eq!(access.verdict, AccessVerdict::Unverified);
        assert!(access.resident.is_some());
        let words = format!("delivered {MIB} of {MIB} bytes");
        assert!(access.reason.contains(&words), "{}", access.reason);
    }

    #[test]
    fn direct_needs_nine_tenths_of_both_directions() {
        let of = |read, written| verdict(evidence(AccessKind::Direct, read, written));
        let (all, most, half) = ([MIB, MIB], [10 * MIB, 9 * MIB], [2 * MIB, MIB]);
        assert_eq!(of(all, all), AccessVerdict::Confirmed);
        assert_eq!(of(most, [MIB, 5 * MIB]), AccessVerdict::Confirmed);
        assert_eq!(of(half, all), AccessVerdict::Contradicted);
        assert_eq!(of(all, half), AccessVerdict::Contradicted);
    }

    #[test]
    fn a_cached_read_that_the_device_served_is_contradicted() {
        let of = |read| {
            let mut evidence = evidence(AccessKind::InCache, read, [MIB, 0]);
            evidence.warm.resident = Some(1.0);
            verdict(evidence)
        };
        assert_eq!(of([100 * MIB, 0]), AccessVerdict::Confirmed);
        assert_eq!(of([100 * MIB, 4 * MIB]), AccessVerdict::Confirmed);
        assert_eq!(of([100 * MIB, 6 * MIB]), AccessVerdict::Contradicted);
        assert_eq!(of([MIB, 6 * MIB]), AccessVerdict::Contradicted);
    }

    #[test]
    fn without_reads_or_counters_nothing_is_claimed() {
        let written = evidence(AccessKind::InCache, [0, 0], [MIB, 0]);
        assert_eq!(verdict(written), AccessVerdict::Unverified);
        let mut uncounted = Evidence::new(AccessKind::Direct, Path::new("/proc"));
        let failure = uncounted
            .check_direct(Path::new("/proc/self/stat"), "record", Size(4096))
            .unwrap_err();
        assert_eq!(failure.kind, FailureKind::Access);
        assert_eq!(verdict(uncounted), AccessVerdict::Contradicted);
    }

    #[test]
    fn a_file_system_that_refuses_direct_access_is_noticed_before_anything_is_timed() {
        let mut evidence = evidence(AccessKind::Direct, [0, 0], [0, 0]);
        let refused = evidence.check_direct(Path::new("/proc/self/stat"), "record", Size(4096));
        assert!(refused.unwrap_err().message.contains("O_DIRECT"));
        assert_eq!(verdict(evidence), AccessVerdict::Contradicted);
    }
}
