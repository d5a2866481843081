//! What can be asked of the workload, and what is refused.

use kit::content::Filling;
use kit::failure::bad_parameter;
use kit::limits::file_name;
use kit::trial::point;
use kit::{params, List, Size};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{json, Map, Value};
use wire::{AccessKind, Failure};

use super::offsets::Range;
use storage::access::{cache_limit_help, check_cache_limit, unaligned, Footprint, CACHE_LIMITS};
use storage::workload::region::{self, Phase};

const FILE_MAX: Size = Size(1 << 40);
const RECORD_MAX: Size = Size(16 << 20);
const FILES_MAX: u32 = 1_000;
const CONTEXTS_MAX: u32 = 1_000;
const THREADS_MAX: u32 = 1_024;
const DEPTH_MAX: u32 = 4_096;
/// No device has smaller sectors.
const SECTOR_BYTES: u64 = 512;
/// From here on the original's random offsets stay inside the range.
const CLASSIC_RANGE_MIN: Size = Size(2 << 20);

/// The stages, in the order in which they are executed.
pub const ORDER: [Phase; 4] = [
    Phase::Write,
    Phase::Read,
    Phase::RandomWrite,
    Phase::RandomRead,
];

/// How requests are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BackendName {
    /// Linux native asynchronous I/O.
    Libaio,
    /// No I/O: measures the loop itself.
    Null,
}

/// What is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Fill {
    /// Zeroes, as the original: nothing compresses better.
    Zeroes,
    /// The letter b, as the original when it verifies.
    Letter,
    /// Random bytes, incompressible.
    Random,
}

kit::parameters! {
/// Parameters of the workload.
pub struct Params {
    /// Size of each file. What does not fill a record is left off.
    #[schemars(extend("amount" = "bytes", "least" = 65_536))]
    pub file: Size = Size(1 << 30), within Size(512)..=FILE_MAX;
    /// Number of files.
    pub files: u32 = 1, in 1..=FILES_MAX;
    /// Names of the files in the target, one for each. Empty: `aio-stress.0` and so on.
    pub names: Vec<String> = Vec::new();
    /// Leave the files of the last cell behind (off: the original's -u).
    pub keep: bool = false;
    /// Bytes per request; several make a grid.
    #[schemars(extend("within" = "file"))]
    pub record: List<Size> = [Size(64 << 10)].into(), within Size(512)..=RECORD_MAX;
    /// Requests in flight per file and context, at most; several make a grid.
    pub depth: List<u32> = [64].into(), within 1..=DEPTH_MAX;
    /// Requests built for one file before the next one's turn; never more than `depth`.
    pub batch: u32 = 8, in 1..=DEPTH_MAX;
    /// Requests handed over by one io_submit, at most. 0: as many as a round builds.
    pub submit_max: u32 = 0;
    /// Places of each file that are worked on at once.
    pub contexts: u32 = 1, in 1..=CONTEXTS_MAX;
    /// Distance of these places. Each ends as far before the end of the file as it starts behind
    /// its beginning.
    pub context_offset: Size = Size(2 << 20), within Size(0)..=FILE_MAX;
    /// Threads that the files and contexts are dealt to; never more than there are of those.
    pub threads: u32 = 1, in 1..=THREADS_MAX;
    /// What is done, always in this order. Files that are read but not written are laid out
    /// first, untimed.
    pub stages: List<Phase> = ORDER.into();
    /// Through the page cache, one that is too small, or around it (O_DIRECT; the original's -O).
    /// Through it, requests are carried out before io_submit returns. It is verified: a trial that
    /// was not what is declared here has failed.
    pub access: AccessKind = AccessKind::InCache;
    #[doc = cache_limit_help!()]
    #[schemars(extend("amount" = "bytes", "least" = 4_194_304))]
    pub cache_limit: Option<Size> = None, within CACHE_LIMITS;
    /// Every write waits for the device (O_SYNC; the original's -S).
    pub sync: bool = false;
    /// Wait at the end of each stage until all data are on the device (off: the original's -n).
    pub fsync: bool = true;
    /// When the first thread has done a stage, the others begin nothing more in it (off: the
    /// original's -x). What is left of files that are read later is then written, untimed.
    pub stonewall: bool = true;
    /// Alignment of buffers in memory; and that of random offsets when `classic`.
    pub alignment: Size = Size(4 << 10), within Size(512)..=RECORD_MAX;
    /// What is written: `zeroes`, `letter`, `random`, or shares of it that a file system can save,
    /// {"compressible": 0.5, "dedupable": 0.2}, measured before the trial. Then each 4 KiB has a
    /// stamp of its own, written inside the timed region (some 10 ns).
    pub content: Filling<Fill> = Filling::Named(Fill::Zeroes);
    /// Compare eight bytes per page of every record read, inside the timed region.
    pub verify: bool = true;
    /// true: random offsets are those of the original, which are aligned to pages and overlap,
    /// and never touch the first MiB; false: whole records, all equally likely.
    pub classic: bool = false;
    /// Seed of the random records; not used when `classic`.
    pub seed: u32 = 1;
    /// How requests are made.
    pub backend: BackendName = BackendName::Libaio;
}}

/// One point of the grid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cell {
    /// Bytes per request.
    pub record: Size,
    /// Requests in flight per file and context.
    pub depth: u32,
}

impl Cell {
    /// Its place in the grid, as a sample names it.
    pub fn point(self) -> Map<String, Value> {
        point([("record", json!(self.record)), ("depth", json!(self.depth))])
    }
}

impl Params {
    /// Reads and checks. Threads that would have nothing to do are left out.
    ///
    /// # Errors
    /// `BadJob`, naming the parameter.
    pub fn parse(parameters: &Map<String, Value>) -> Result<Self, Failure> {
        let mut params: Self = params::read(parameters)?;
        params.check_names()?;
        check_cache_limit(params.access, params.cache_limit)?;
        params.check_alignment()?;
        params.check_contexts()?;
        params.stages = region::ordered(params.stages, ORDER);
        Ok(params)
    }

    /// The grid, record sizes outermost.
    pub fn cells(&self) -> Vec<Cell> {
        let of_record = |&record| self.depth.iter().map(move |&depth| Cell { record, depth });
        self.record.iter().flat_map(of_record).collect()
    }

    /// The range of each context of a file.
    pub fn ranges(&self, record: Size) -> impl Iterator<Item = Range> + '_ {
        (0..u64::from(self.contexts)).map(move |context| {
            let inset_bytes = context * self.context_offset.bytes();
            Range {
                start: inset_bytes,
                end: self.file.bytes().saturating_sub(inset_bytes),
                record_bytes: record.bytes(),
            }
        })
    }

    /// Threads that have something to do.
    pub fn useful_threads(&self) -> u32 {
        self.threads.min(self.files * self.contexts)
    }

    /// Name of file `index` in the target.
    pub fn file_name(&self, index: u32) -> String {
        match self.names.get(index as usize) {
            Some(name) => name.clone(),
            None => format!("aio-stress.{index}"),
        }
    }

    /// What the trial has in memory in a cell.
    pub fn footprint(&self, cell: Cell) -> Footprint {
        let threads = self.useful_threads();
        let slots = u64::from(self.files) * u64::from(self.contexts) * u64::from(cell.depth);
        let buffers_bytes = slots * cell.record.max(self.alignment).bytes();
        let of_thread = buffers_bytes.div_ceil(u64::from(threads));
        Footprint {
            files_bytes: self.file.bytes() * u64::from(self.files),
            threads,
            record_bytes: of_thread,
            thread_bytes: of_thread + self.content.thread_bytes(cell.record.bytes()),
        }
    }

    /// Requests that a round builds for one file.
    pub fn batch_at(&self, depth: u32) -> usize {
        let cap = if self.submit_max == 0 {
            depth
        } else {
            depth.min(self.submit_max)
        };
        self.batch.min(cap) as usize
    }

    fn check_names(&self) -> Result<(), Failure> {
        for (index, name) in self.names.iter().enumerate() {
            file_name("names", name)?;
            if self.names[..index].contains(name) {
                let message = format!("parameter \"names\": \"{name}\" is there twice");
                return Err(bad_parameter("names", message));
            }
        }
        let (names, files) = (self.names.len(), self.files);
        if names > 0 && names != files as usize {
            let message = format!(
                "parameter \"names\": {names} for {files} files; use one for each, or none"
            );
            return Err(bad_parameter("names", message));
        }
        Ok(())
    }

    fn check_alignment(&self) -> Result<(), Failure> {
        let alignment = self.alignment;
        if !alignment.bytes().is_power_of_two() {
            let message =
                format!("parameter \"alignment\": {alignment} is not a power of two; use 4k");
            return Err(bad_parameter("alignment", message));
        }
        let whole = |record: &Size| record.bytes().is_multiple_of(SECTOR_BYTES);
        let broken = self.record.iter().find(|record| !whole(record));
        match broken.filter(|_| self.access == AccessKind::Direct) {
            Some(&record) => Err(unaligned("record", record, SECTOR_BYTES)),
            None => Ok(()),
        }
    }

    /// The innermost range is the smallest: it must hold a record, and the original's offsets.
    fn check_contexts(&self) -> Result<(), Failure> {
        let is_random = self.stages.iter().any(|stage| stage.is_random());
        for &record in self.record.iter() {
            let needed = if self.classic && is_random {
                record.max(CLASSIC_RANGE_MIN)
            } else {
                record
            };
            let length = |range: Range| range.end.saturating_sub(range.start);
            let smallest_bytes = self.ranges(record).map(length).min().unwrap_or(0);
            if smallest_bytes < needed.bytes() {
                let message = format!(
                    "parameter \"file\": {} is too small for {} contexts at a distance of {}: \
                     the innermost has {}, but needs {needed}; \
                     use a larger file, or fewer or nearer contexts",
                    self.file,
                    self.contexts,
                    self.context_offset,
                    Size(smallest_bytes)
                );
                return Err(bad_parameter("file", message));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use testing::assert_refusals_name;

    fn parse(value: Value) -> Result<Params, Failure> {
        Params::parse(value.as_object().unwrap())
    }

    #[test]
    fn the_defaults_are_those_of_the_original() {
        let params = parse(json!({})).unwrap();
        let cells = params.cells();
        assert_eq!((cells[0].record, cells[0].depth), (Size(64 << 10), 64));
        assert_eq!(params.batch_at(64), 8);
        assert_eq!(&*params.stages, &ORDER);
        let ranges: Vec<u64> = params.ranges(Size(64 << 10)).map(|r| r.records()).collect();
        assert_eq!(ranges, [16_384]);
    }

    #[test]
    fn batches_and_threads_are_no_larger_than_useful() {
        let params = parse(json!({"threads": 3, "batch": 100, "submit_max": 5})).unwrap();
        assert_eq!(params.useful_threads(), 1);
        assert_eq!((params.batch_at(64), params.batch_at(3)), (5, 3));
    }

    #[test]
    fn contexts_are_nested() {
        let job = json!({"file": "1M", "record": "64k", "contexts": 3, "context_offset": "128k"});
        let params = parse(job).unwrap();
        let ranges = params
            .ranges(Size(64 << 10))
            .map(|r| (r.start >> 10, r.end >> 10));
        assert_eq!(
            ranges.collect::<Vec<_>>(),
            [(0, 1024), (128, 896), (256, 768)]
        );
    }

    #[test]
    fn refusals_name_the_parameter() {
        assert_refusals_name(
            parse,
            [
                (json!({"file": "1k"}), "file"),
                (json!({"file": "8M", "contexts": 3}), "file"),
                (json!({"file": "1M", "classic": true}), "file"),
                (json!({"record": "32M"}), "record"),
                (json!({"record": 1000, "access": "direct"}), "record"),
                (json!({"depth": 0}), "depth"),
                (json!({"batch": 0}), "batch"),
                (json!({"alignment": 1000}), "alignment"),
                (json!({"stages": "append"}), "stages"),
                (json!({"stages": []}), "stages"),
                (json!({"names": ["a", "b"]}), "names"),
                (json!({"names": ["a", "a"], "files": 2}), "names"),
                (json!({"names": ["../a"]}), "names"),
                (json!({"dept": 1}), "dept"),
            ],
        );
        assert!(parse(json!({"file": "1M", "classic": true, "stages": "read"})).is_ok());
    }
}
