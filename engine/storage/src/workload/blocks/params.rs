//! Parameters that both primitives have, and what is refused.

use kit::content::Filling;
use kit::failure::bad_parameter;
use kit::{List, Size};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{json, Map, Value};
use wire::{AccessKind, Failure, Timing};

use crate::access::{unaligned, Footprint};

/// Largest file of a thread.
pub const FILE_MAX: Size = Size(1 << 44);
/// Largest block.
pub const BLOCK_MAX: Size = Size(16 << 20);
/// Most blocks in flight in a thread.
pub const DEPTH_MAX: u32 = 4_096;
/// Most threads.
pub const THREADS_MAX: u32 = 1_024;
/// No device has smaller sectors.
const SECTOR_BYTES: u64 = 512;

/// How blocks are moved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BackendName {
    /// pread and pwrite, one at a time.
    Sync,
    /// Copies from and to a shared mapping, one at a time; the first touch of each page is a
    /// fault, which counts.
    Mmap,
    /// Linux native asynchronous I/O, up to the depth at once.
    Libaio,
    /// io_uring, up to the depth at once.
    Uring,
    /// No I/O: measures the loop itself.
    Null,
}

impl BackendName {
    /// Whether several blocks can be in flight at once in a thread.
    fn is_queued(self) -> bool {
        matches!(self, BackendName::Libaio | BackendName::Uring)
    }
}

/// What is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Fill {
    /// Random bytes, incompressible.
    Random,
    /// Zeroes: nothing compresses better.
    Zeroes,
}

/// One point of the grid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cell {
    /// Size of each thread's file as asked for.
    pub file: Size,
    /// Size of a block.
    pub block: Size,
    /// Transfers in flight in each thread.
    pub depth: u32,
    /// Number of threads.
    pub threads: u32,
}

impl Cell {
    /// The dimensions of the grid, outermost first.
    pub const GRID: [&str; 4] = ["file", "block", "depth", "threads"];

    /// Whole blocks that fit into a file.
    pub fn blocks(self) -> u64 {
        self.file.bytes() / self.block.bytes()
    }

    /// What the threads have in memory.
    pub fn footprint(self) -> Footprint {
        Footprint {
            files_bytes: self.file.bytes() * u64::from(self.threads),
            threads: self.threads,
            record_bytes: self.block.bytes(),
            thread_bytes: self.block.bytes() * u64::from(self.depth),
        }
    }

    /// Its place in the grid, as a sample names it.
    pub fn point(self) -> Map<String, Value> {
        let values = [
            json!(self.file),
            json!(self.block),
            json!(self.depth),
            json!(self.threads),
        ];
        let keys = Self::GRID.map(str::to_owned);
        keys.into_iter().zip(values).collect()
    }

    /// As progress shows it.
    pub fn label(self) -> String {
        let Self {
            file,
            block,
            depth,
            threads,
        } = self;
        format!("{threads} × {file}, block {block}, depth {depth}")
    }
}

/// The parameters that both primitives have.
#[derive(Clone, Copy)]
pub struct Common<'a> {
    /// What spans the grid.
    pub grid: Grid<'a>,
    /// Whether fsync is inside the timed region.
    pub include_fsync: bool,
    /// Where reads are served from.
    pub access: AccessKind,
    /// How much the page cache may hold, where that is bounded.
    pub cache_limit: Option<Size>,
    /// What is written.
    pub content: Filling<Fill>,
    /// Whether blocks read are compared.
    pub verify: bool,
    /// How often the clock is read.
    pub timing: Timing,
    /// How blocks are moved.
    pub backend: BackendName,
}

/// What spans the grid.
#[derive(Clone, Copy)]
pub struct Grid<'a> {
    /// Sizes of files.
    pub file: &'a List<Size>,
    /// Sizes of blocks.
    pub block: &'a List<Size>,
    /// Depths.
    pub depth: &'a List<u32>,
    /// Numbers of threads.
    pub threads: &'a List<u32>,
}

/// States the parameters of a primitive: those that both have, with the default `block`, around its
/// own, the first of which come after the grid and the others before `backend`.
macro_rules! block_parameters {
    (block = $block:expr, { $($own:tt)* } { $($last:tt)* }) => {
        kit::parameters! {
            /// Parameters of the workload.
            pub struct Params {
                /// Size of the file of each thread; several make a grid. What does not fill a block
                /// is left off.
                #[schemars(extend("amount" = "bytes", "least" = 65_536))]
                pub file: List<Size> = [Size(64 << 20)].into(), within Size(1)..=FILE_MAX;
                /// Bytes per read or write; several make a grid.
                #[schemars(extend("within" = "file"))]
                pub block: List<Size> = [$block].into(), within Size(1)..=BLOCK_MAX;
                /// Blocks in flight at once in each thread; several make a grid. More than 1 needs
                /// a backend with a queue.
                pub depth: List<u32> = [1].into(), within 1..=DEPTH_MAX;
                /// Threads that work at once, each with a file of its own; several make a grid.
                pub threads: List<u32> = [1].into(), within 1..=THREADS_MAX;
                $($own)*
                /// Where reads are served from: the page cache; the device, through a page cache
                /// that is too small; or the device by O_DIRECT. It is verified: a trial that was
                /// not what is declared here has failed.
                pub access: AccessKind = AccessKind::InCache;
                #[doc = cache_limit_help!()]
                #[schemars(extend("amount" = "bytes", "least" = 4_194_304))]
                pub cache_limit: Option<Size> = None, within CACHE_LIMITS;
                /// What is written: `random`, `zeroes`, or shares of it that a file system can save,
                /// {"compressible": 0.5, "dedupable": 0.2}, measured before the trial. Then each 4
                /// KiB has a stamp of its own, written inside the timed region (some 10 ns).
                pub content: Filling<Fill> = Filling::Named(Fill::Random);
                /// Compare eight bytes per page of every block read, inside the timed region.
                pub verify: bool = false;
                /// How often the clock is read; latencies need it per operation.
                pub timing: Timing = Timing::Operation;
                $($last)*
                /// How blocks are moved.
                pub backend: BackendName = BackendName::Sync;
            }
        }

        impl Params {
            /// What both primitives have.
            pub fn common(&self) -> Common<'_> {
                Common {
                    grid: Grid {
                        file: &self.file,
                        block: &self.block,
                        depth: &self.depth,
                        threads: &self.threads,
                    },
                    include_fsync: self.include_fsync,
                    access: self.access,
                    cache_limit: self.cache_limit,
                    content: self.content,
                    verify: self.verify,
                    timing: self.timing,
                    backend: self.backend,
                }
            }
        }
    };
}
pub(in crate::workload) use block_parameters;

impl Grid<'_> {
    /// Checks what backend and access can do with it.
    ///
    /// # Errors
    /// `BadJob`, naming the parameter.
    pub fn check(&self, backend: BackendName, access: AccessKind) -> Result<(), Failure> {
        if access == AccessKind::Direct && backend == BackendName::Mmap {
            let message = "parameter \"access\": a mapping is made of the page cache; use \
                           \"in-cache\", or another backend";
            return Err(bad_parameter("access", message));
        }
        for &block in self.block.iter() {
            let is_whole = block.bytes().is_multiple_of(SECTOR_BYTES);
            if access == AccessKind::Direct && !is_whole {
                return Err(unaligned("block", block, SECTOR_BYTES));
            }
        }
        for &depth in self.depth.iter() {
            if depth > 1 && !backend.is_queued() {
                return Err(one_at_a_time(backend, depth));
            }
        }
        if self.cells().is_empty() {
            let message = "parameter \"block\": every block is larger than every file; \
                           use a block no larger than the largest file";
            return Err(bad_parameter("block", message));
        }
        Ok(())
    }

    /// All points: file sizes outermost, threads innermost. Blocks larger than the file are left
    /// out.
    pub fn cells(&self) -> Vec<Cell> {
        let mut cells = Vec::new();
        for &file in self.file.iter() {
            for &block in self.block.iter().filter(|&&block| block <= file) {
                for &depth in self.depth.iter() {
                    cells.extend(self.threads.iter().map(|&threads| Cell {
                        file,
                        block,
                        depth,
                        threads,
                    }));
                }
            }
        }
        cells
    }

    /// The most threads that work at once.
    pub fn threads_max(&self) -> u32 {
        self.threads.iter().copied().max().unwrap_or(1)
    }
}

fn one_at_a_time(backend: BackendName, depth: u32) -> Failure {
    let name = json!(backend);
    let message = format!(
        "parameter \"depth\": backend {name} moves one block at a time, not {depth}; use 1, or \
         backend \"uring\" or \"libaio\", or more threads"
    );
    bad_parameter("depth", message)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cells(file: &str, block: &str) -> Vec<String> {
        let list = |json| serde_json::from_str::<List<Size>>(json).unwrap();
        let (file, block) = (list(file), list(block));
        let grid = Grid {
            file: &file,
            block: &block,
            depth: &[1, 2].into(),
            threads: &[1].into(),
        };
        grid.cells().iter().map(|cell| cell.label()).collect()
    }

    #[test]
    fn the_grid_leaves_out_blocks_larger_than_the_file() {
        let wanted = [
            "1 × 8k, block 4k, depth 1",
            "1 × 8k, block 4k, depth 2",
            "1 × 64k, block 4k, depth 1",
            "1 × 64k, block 4k, depth 2",
            "1 × 64k, block 16k, depth 1",
            "1 × 64k, block 16k, depth 2",
        ];
        assert_eq!(cells(r#"["8k", "64k"]"#, r#"["4k", "16k"]"#), wanted);
    }

    #[test]
    fn a_point_names_the_dimensions_in_order() {
        let cell = Cell {
            file: Size(8),
            block: Size(4),
            depth: 2,
            threads: 1,
        };
        let point = Value::from(cell.point()).to_string();
        assert_eq!(point, r#"{"file":8,"block":4,"depth":2,"threads":1}"#);
        assert_eq!(cell.blocks(), 2);
    }
}
