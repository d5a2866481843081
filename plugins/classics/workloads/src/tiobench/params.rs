//! What can be asked of the workload, and what is refused.

use kit::content::Filling;
use kit::failure::bad_parameter;
use kit::trial::point;
use kit::{params, List, Size};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{json, Map, Value};
use wire::{AccessKind, Failure};

use super::version::Version;
use storage::access::{cache_limit_help, check_cache_limit, unaligned, Footprint, CACHE_LIMITS};
pub use storage::workload::choices::{BackendName, Fill};
use storage::workload::region::{self, Phase};

const FILE_MAX: Size = Size(1 << 40);
const BLOCK_MAX: Size = Size(16 << 20);
const THREADS_MAX: u32 = 1_024;
const OPERATIONS_MAX: u64 = 1_000_000_000;
/// The original's random numbers have 31 bits.
const BLOCKS_MAX: u64 = 1 << 31;
/// No device has smaller sectors.
const SECTOR_BYTES: u64 = 512;

/// The phases, in the order in which they are executed.
pub const ORDER: [Phase; 4] = [
    Phase::Write,
    Phase::RandomWrite,
    Phase::Read,
    Phase::RandomRead,
];

kit::parameters! {
/// Parameters of the workload.
pub struct Params {
    /// Size of the file of each thread; several make a grid. What does not fill a block is left
    /// off.
    #[schemars(extend("amount" = "bytes", "least" = 65_536))]
    pub file: List<Size> = [Size(10 << 20)].into(), within Size(1)..=FILE_MAX;
    /// Bytes per read or write; several make a grid.
    #[schemars(extend("within" = "file"))]
    pub block: List<Size> = [Size(4 << 10)].into(), within Size(1)..=BLOCK_MAX;
    /// Threads that work at once, each with a file of its own; several make a grid.
    pub threads: List<u32> = [4].into(), within 1..=THREADS_MAX;
    /// What is done, always in this order. Without the write phase, files are laid out, untimed,
    /// before the first phase that reads them; random writes go to files without contents.
    pub phases: List<Phase> = ORDER.into();
    /// Operations of each thread in each random phase. (The original's default is 1000, and
    /// 100000 since 2023.)
    #[schemars(extend("amount" = "count", "least" = 100))]
    pub random_operations: u64 = 1_000, in 1..=OPERATIONS_MAX;
    /// Whose system calls are made, and whose figure is given as the native one.
    pub version: Version = Version::Snapshot2024;
    /// Every write waits for the device (O_SYNC; the original's -S).
    pub sync: bool = false;
    /// In the write phase, let the threads work one after another, so that files do not
    /// interleave on the device (the original's -W).
    pub in_turn: bool = false;
    /// Where reads are served from: the page cache; the device, through a page cache that is too
    /// small; or the device by O_DIRECT (the original's -X). It is verified: a trial that was not
    /// what is declared here has failed.
    pub access: AccessKind = AccessKind::InCache;
    #[doc = cache_limit_help!()]
    #[schemars(extend("amount" = "bytes", "least" = 4_194_304))]
    pub cache_limit: Option<Size> = None, within CACHE_LIMITS;
    /// What is written: `zeroes`, `random`, or shares of it that a file system can save,
    /// {"compressible": 0.5, "dedupable": 0.2}, measured before the trial. Then each 4 KiB has a
    /// stamp of its own, written inside the timed region (some 10 ns).
    pub content: Filling<Fill> = Filling::Named(Fill::Zeroes);
    /// Compare eight bytes per page of every block read, inside the timed region.
    pub verify: bool = true;
    /// Seed of the random blocks; each thread and phase has a sequence of its own. (The original
    /// takes the time of day.)
    pub seed: u32 = 1;
    /// How blocks are moved.
    pub backend: BackendName = BackendName::Sync;
}}

/// One point of the grid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cell {
    /// Size of each thread's file as asked for.
    pub file: Size,
    /// Size of a block.
    pub block: Size,
    /// Number of threads.
    pub threads: u32,
}

impl Cell {
    /// Whole blocks that fit into a file.
    pub fn blocks(self) -> u64 {
        self.file.bytes() / self.block.bytes()
    }

    /// Bytes of these blocks.
    pub fn file_bytes(self) -> u64 {
        self.blocks() * self.block.bytes()
    }

    /// Bytes of the files of all threads.
    pub fn bytes(self) -> u64 {
        self.file_bytes() * u64::from(self.threads)
    }

    /// What the threads have in memory.
    pub fn footprint(self) -> Footprint {
        Footprint {
            files_bytes: self.bytes(),
            threads: self.threads,
            record_bytes: self.block.bytes(),
            thread_bytes: 0,
        }
    }

    /// Its place in the grid, as a sample names it.
    pub fn point(self) -> Map<String, Value> {
        point([
            ("file", json!(self.file)),
            ("block", json!(self.block)),
            ("threads", json!(self.threads)),
        ])
    }
}

impl Params {
    /// Reads and checks.
    ///
    /// # Errors
    /// `BadJob`, naming the parameter.
    pub fn parse(parameters: &Map<String, Value>) -> Result<Self, Failure> {
        let mut params: Self = params::read(parameters)?;
        check_cache_limit(params.access, params.cache_limit)?;
        params.check_cells()?;
        params.check_direct()?;
        params.phases = region::ordered(params.phases, ORDER);
        Ok(params)
    }

    /// The grid: file sizes outermost, threads innermost.
    pub fn cells(&self) -> Vec<Cell> {
        let mut cells = Vec::new();
        for &file in self.file.iter() {
            for &block in self.block.iter().filter(|&&block| block <= file) {
                for &threads in self.threads.iter() {
                    cells.push(Cell {
                        file,
                        block,
                        threads,
                    });
                }
            }
        }
        cells
    }

    /// The most threads that work at once.
    pub fn threads_max(&self) -> u32 {
        self.threads.iter().copied().max().unwrap_or(1)
    }

    /// Operations of one thread in a phase.
    pub fn operations(&self, phase: Phase, cell: Cell) -> u64 {
        if phase.is_random() {
            self.random_operations
        } else {
            cell.blocks()
        }
    }

    fn check_cells(&self) -> Result<(), Failure> {
        let cells = self.cells();
        if cells.is_empty() {
            let message = "parameter \"block\": every block is larger than every file; \
                           use a block no larger than the largest file";
            return Err(bad_parameter("block", message));
        }
        match cells.iter().find(|cell| cell.blocks() > BLOCKS_MAX) {
            Some(cell) => {
                let message = format!(
                    "parameter \"block\": {} makes {} blocks of a file of {}; \
                     use at most {BLOCKS_MAX}",
                    cell.block,
                    cell.blocks(),
                    cell.file
                );
                Err(bad_parameter("block", message))
            }
            None => Ok(()),
        }
    }

    fn check_direct(&self) -> Result<(), Failure> {
        let whole = |block: &Size| block.bytes().is_multiple_of(SECTOR_BYTES);
        match self.block.iter().find(|block| !whole(block)) {
            Some(&block) if self.access == AccessKind::Direct => {
                Err(unaligned("block", block, SECTOR_BYTES))
            }
            _ => Ok(()),
        }
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
        let cell = params.cells()[0];
        assert_eq!(
            (cell.file, cell.block, cell.threads),
            (Size(10 << 20), Size(4096), 4)
        );
        assert_eq!(params.operations(Phase::RandomRead, cell), 1_000);
        assert_eq!(params.operations(Phase::Read, cell), 2_560);
    }

    #[test]
    fn the_grid_leaves_out_blocks_larger_than_the_file() {
        let job = json!({"file": ["8k", "64k"], "block": ["4k", "16k"], "threads": [1, 2]});
        let cells = parse(job).unwrap().cells();
        let shown: Vec<_> = cells
            .iter()
            .map(|cell| format!("{} {} {}", cell.file, cell.block, cell.threads))
            .collect();
        let wanted = [
            "8k 4k 1",
            "8k 4k 2",
            "64k 4k 1",
            "64k 4k 2",
            "64k 16k 1",
            "64k 16k 2",
        ];
        assert_eq!(shown, wanted);
    }

    #[test]
    fn phases_are_ordered() {
        let params = parse(json!({"phases": ["random-read", "write"]})).unwrap();
        assert_eq!(&*params.phases, [Phase::Write, Phase::RandomRead]);
    }

    #[test]
    fn refusals_name_the_parameter() {
        assert_refusals_name(
            parse,
            [
                (json!({"file": 0}), "file"),
                (json!({"file": "4k", "block": "8k"}), "block"),
                (json!({"file": "1T", "block": 1}), "block"),
                (json!({"block": 1000, "access": "direct"}), "block"),
                (json!({"threads": 0}), "threads"),
                (json!({"random_operations": 0}), "random_operations"),
                (json!({"phases": "rewrite"}), "phases"),
                (json!({"version": "0.4"}), "version"),
                (json!({"thread": 1}), "thread"),
            ],
        );
    }
}
