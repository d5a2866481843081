//! What can be asked of the workload.

mod check;

use std::path::PathBuf;

use kit::content::Filling;
use kit::{content, params, List, Size};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use wire::{AccessKind, Failure, Timing};

use super::grid::{Auto, Cell};
use super::options::{
    BackendName, Existing, Fill, Locks, Msync, NativeUnit, OpenSync, RandomOrder, StrideOrder,
};
use super::pattern::Groups;
use super::table::{Pass, Test};
use storage::access::{cache_limit_help, Footprint, CACHE_LIMITS};

const RECORD_MAX: Size = Size(16 << 20);
const RECORD_MIN: Size = Size(512);
const FILE_MAX: Size = Size(1 << 40);
const PURGE_MAX: Size = Size(1 << 30);
const DEPTH_MAX: u32 = 1_024;
const THINK_MS_MAX: u64 = 10_000;
/// The random order needs eight bytes per record.
const RECORDS_MAX: u64 = 1 << 28;
/// What the log of operations takes in memory for each: two numbers of 64 bits.
pub const ENTRY_BYTES: u64 = 16;

kit::parameters! {
/// Parameters of the workload.
pub struct Params {
    /// Size of the test file; several make a grid. What does not fill a record is left off.
    #[schemars(extend("amount" = "bytes", "least" = 65_536))]
    pub file: List<Size> = [Size(64 << 20)].into(), within RECORD_MIN..=FILE_MAX;
    /// Size of a record, 512 bytes to 16M; several make a grid. Cells whose record is larger
    /// than the file are skipped.
    #[schemars(extend("within" = "file"))]
    pub record: List<Size> = [Size(4 << 10), Size(64 << 10), Size(1 << 20)].into(),
        within RECORD_MIN..=RECORD_MAX;
    /// IOzone's auto mode (-a): makes up those of `file` and `record` that are not given. The
    /// effective parameters show what it made.
    pub auto: Option<Auto> = None;
    /// Skip records below 64k on files above 16M. Left out, it is on where the original does
    /// so: in auto mode when neither sizes nor bounds of records are given (-z: off).
    pub crossover: bool = false;
    /// Tests to execute, always in the order in which they are listed here.
    pub tests: List<Test> = Test::CLASSIC.into();
    /// Do the second pass of tests that have one (off: IOzone's -+n).
    pub retest: bool = true;
    /// Name of the test file in the target directory.
    pub name: String = "iozone.tmp".to_owned();
    /// What happens when the test file is there already.
    pub existing: Existing = Existing::Refuse;
    /// Leave the last test file behind (IOzone's -w).
    pub keep: bool = false;
    /// Where data come from and go to: the page cache; the device, for reads, through a page
    /// cache that is too small; or the device by O_DIRECT. It is verified, and a trial that was
    /// not what is declared here has failed.
    pub access: AccessKind = AccessKind::InCache;
    #[doc = cache_limit_help!()]
    #[schemars(extend("amount" = "bytes", "least" = 4_194_304))]
    pub cache_limit: Option<Size> = None, within CACHE_LIMITS;
    /// Open files so that each write waits for the device.
    pub open_sync: OpenSync = OpenSync::None;
    /// Wait inside the timed region until data are on the device (IOzone's -e).
    pub include_fsync: bool = false;
    /// Close the file inside the timed region (IOzone's -c).
    pub include_close: bool = false;
    /// Advisory locks.
    pub locks: Locks = Locks::None;
    /// Distance of two strided reads, in records (IOzone's -j).
    pub stride: u64 = 17, in 1..=RECORDS_MAX;
    /// Which records strided reads visit. Left out, it is `classic` where `classic` is set.
    pub stride_order: StrideOrder = StrideOrder::WholeFile;
    /// Which random order, by the revision of the original.
    pub random_order: RandomOrder = RandomOrder::From3488;
    /// Compute this long before each record, in ms; not counted as time of the test (IOzone's
    /// -J).
    pub think_ms: u64 = 0, in 0..=THINK_MS_MAX;
    /// Read so much other memory before each record, inside the timed region, that the
    /// processor's caches lose it (IOzone's -p); 0 for none, 1M in the original.
    pub purge: Size = Size(0), within Size(0)..=PURGE_MAX;
    /// In sequential reads, seek away and back after every hundredth record, inside the timed
    /// region, so that a file system sees no stream (IOzone's -K).
    pub jitter: bool = false;
    /// How records are moved.
    pub backend: BackendName = BackendName::Sync;
    /// With backend `mmap`: after each record that was written, inside the timed region.
    pub msync: Msync = Msync::None;
    /// With backend `libaio`: records under way at once.
    pub depth: u32 = 1, in 1..=DEPTH_MAX;
    /// With backend `libaio`: copy each record between the memory that the kernel uses and
    /// another buffer, inside the timed region (IOzone's -H; off: -k).
    pub copies: bool = false;
    /// Read the clock twice per pass, or once per operation for latencies.
    pub timing: Timing = Timing::Pass;
    /// Note place, latency and size of every operation, in at most 1G of memory, and write them
    /// after each pass to a file in this directory (IOzone's -Q): `wol.dat` and so on, with
    /// `Child_0_` before it for the first of many children. The clock is then read once per
    /// operation. Choose a directory on another file system than the target.
    #[schemars(extend("brings" = "writes logs to"))]
    pub log_directory: Option<PathBuf> = None;
    /// Add to such files when they are there already, as the original does; otherwise the trial
    /// is refused.
    pub log_append: bool = false;
    /// Compare eight bytes per page of every record read, inside the timed region.
    pub verify: bool = true;
    /// Where records are verified, compare every byte of them (as IOzone's -V and -+d do).
    pub verify_every_byte: bool = false;
    /// What is written: `classic`, `uniform`, `diagnostic`, `random`, or shares of it that a file system can save,
    /// {"compressible": 0.5, "dedupable": 0.2}, measured before the trial. Then each 4 KiB has a
    /// stamp of its own, written inside the timed region (some 10 ns).
    pub content: Filling<Fill> = Filling::Named(Fill::Classic);
    /// The pattern byte of the contents `classic` and `uniform`. (Revisions of the original
    /// differ: 16 in 3.414, 92 in 3.430, 32 in 3.471, 95 in 3.489, 58 in 3.508.)
    pub pattern: u8 = content::CLASSIC_PATTERN;
    /// Unit of the native figure.
    pub native: NativeUnit = NativeUnit::Rate;
    /// Do what the original does where that is a defect: strided reads leave records out (see
    /// `stride_order`), and the backward test has a second pass that is not reported.
    pub classic: bool = false;
}}

impl Params {
    /// Reads and checks. Also gives the tests that cannot be done under the declared access.
    ///
    /// # Errors
    /// `BadJob`, naming the parameter.
    pub fn parse(parameters: &Map<String, Value>) -> Result<(Self, Vec<Test>), Failure> {
        let mut params: Self = params::read(parameters)?;
        params.make_up_sizes(|name| parameters.contains_key(name))?;
        if params.classic && !parameters.contains_key("stride_order") {
            params.stride_order = StrideOrder::Classic;
        }
        let left_out = params.check()?;
        params.tests = params.tests.sorted();
        Ok((params, left_out))
    }

    /// The grid, file sizes outermost.
    pub fn cells(&self) -> Vec<Cell> {
        self.file
            .iter()
            .flat_map(|&file| self.record.iter().map(move |&record| Cell { file, record }))
            .filter(|cell| cell.record <= cell.file)
            .filter(|cell| !(self.crossover && cell.is_crossed_over()))
            .collect()
    }

    /// The passes of `test` that are executed.
    pub fn passes(&self, test: Test) -> &'static [Pass] {
        let is_reported_once = test == Test::Backward && !self.classic;
        if self.retest && !is_reported_once {
            test.passes()
        } else {
            test.passes_once()
        }
    }

    /// What `children` with a file of this cell each have in memory.
    pub fn footprint(&self, cell: Cell, children: u32) -> Footprint {
        Footprint {
            files_bytes: cell.bytes() * u64::from(children),
            threads: children,
            record_bytes: cell.record.bytes(),
            // A child that is a process has a copy of its buffer.
            thread_bytes: cell.record.bytes() * self.slots()
                + self.purge.bytes()
                + self.log_bytes(cell)
                + self.content.thread_bytes(self.call_bytes(cell)),
        }
    }

    /// What the log of a child takes in memory.
    pub fn log_bytes(&self, cell: Cell) -> u64 {
        match self.log_directory {
            Some(_) => cell.records() * ENTRY_BYTES,
            None => 0,
        }
    }

    /// How often the clock is read.
    pub fn clock_reading(&self) -> Timing {
        match self.log_directory {
            Some(_) => Timing::Operation,
            None => self.timing,
        }
    }

    /// Size of what one call moves at most.
    pub fn call_bytes(&self, cell: Cell) -> u64 {
        if self.tests.iter().any(|test| test.is_vectored()) {
            cell.record.bytes() * Groups::length_in(cell)
        } else {
            cell.record.bytes()
        }
    }

    /// Whether anything is done around records beyond moving and comparing them as the original
    /// does by default.
    pub fn is_plain(&self) -> bool {
        self.think_ms == 0
            && self.purge == Size(0)
            && !self.jitter
            && self.locks != Locks::Record
            && !self.verify_every_byte
            && self
                .content
                .named()
                .is_some_and(|fill| fill != Fill::Diagnostic)
    }

    fn make_up_sizes(&mut self, is_given: impl Fn(&str) -> bool) -> Result<(), Failure> {
        let Some(auto) = self.auto.take() else {
            return Ok(());
        };
        if !is_given("file") {
            self.file = auto.files()?;
        }
        if !is_given("record") {
            self.record = auto.records()?;
        }
        if !is_given("crossover") {
            self.crossover = auto.leaves_records_open() && !is_given("file") && !is_given("record");
        }
        Ok(())
    }

    /// Records that a child has in memory at once: those under way, and one of its own.
    pub fn slots(&self) -> u64 {
        match self.backend {
            BackendName::Libaio => u64::from(self.depth) + 1,
            _ => 1,
        }
    }

    /// Whether records under way are really in flight together.
    pub fn is_deep(&self) -> bool {
        self.depth == 1 || self.access == AccessKind::Direct
    }
}

#[cfg(test)]
mod tests;
