//! The parameters, with the defaults of the original.

use std::collections::HashSet;

use kit::content::Filling;
use kit::failure::bad_parameter;
use kit::limits::{file_name, within};
use kit::splitmix::SplitMix;
use kit::Size;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wire::{Failure, Timing};

use super::bias::Bias;
use super::range::{self, SizeRange};

const WEIGHT: u32 = 1000;
/// No file is longer, so larger blocks would change nothing.
const LARGEST_BLOCK: Size = Size(range::LIMIT_BYTES as u64);

kit::parameters! {
/// A pool of small files is made, worked on by transactions, and deleted.
pub struct Params {
    /// Files in the pool at the start. The pool never holds more than twice as many.
    // A smaller pool is soon empty, as chance has it, so it is scaled no further.
    #[schemars(extend("amount" = "count", "least" = 500))]
    pub files: u32 = 500, in 1..=10_000_000;
    /// Transactions: each reads a file or appends to one, then creates a file or deletes one.
    #[schemars(extend("amount" = "count", "least" = 500))]
    pub transactions: u32 = 500, in 1..=100_000_000;
    /// Sizes of the files in bytes, drawn evenly from `smallest..largest`; or one size for all.
    /// A new file stays below the largest size; appends go up to it.
    pub size: SizeRange = SizeRange { smallest: 500, largest: 10_000 };
    /// Subdirectories (of each location) that the files are spread over. 0 and 1: none.
    pub subdirectories: u32 = 0, in 0..=100_000;
    /// Directories made in the target that the files are spread over. Empty: the target itself.
    pub locations: Vec<Location> = Vec::new(), up to 1000;
    /// Bytes per read.
    pub read_block: Size = Size(512), within Size(1)..=LARGEST_BLOCK;
    /// Bytes per write.
    pub write_block: Size = Size(512), within Size(1)..=LARGEST_BLOCK;
    /// true: through the C library's buffered streams; false: one system call per block.
    /// Neither goes around the page cache.
    pub buffering: bool = true;
    /// How many times out of ten a file is read rather than appended to. -1: neither.
    pub bias_read: Bias = Bias::OutOfTen(5);
    /// How many times out of ten a file is created rather than deleted. -1: neither.
    pub bias_create: Bias = Bias::OutOfTen(5);
    /// Threads, which PostMark has not: each with a pool of so many files in a directory of its
    /// own (t0, t1, …), so many transactions, and a sequence that follows from the seed.
    pub threads: u32 = 1, in 1..=1_024;
    /// What is written: `text`, or shares of it that a file system can save,
    /// {"compressible": 0.5, "dedupable": 0.2}, measured before the trial. Then each 4 KiB has a
    /// stamp of its own, written inside the timed region (some 10 ns).
    pub content: Filling<Fill> = Filling::Named(Fill::Text);
    /// Compare every byte that is read with what was written, inside the timed region. What is
    /// appended then goes on in the text where the file ends; in the original it is the beginning
    /// of the text once more.
    pub verify: bool = false;
    /// How often the clock is read: twice per phase, or at each part of an operation on a file,
    /// for latencies.
    pub timing: Timing = Timing::Operation;
    /// Seed of the sequence that decides sizes, files and operations.
    pub seed: u32 = 42, from 1;
    /// real: the file system; null: nothing is done but decide, which measures the instrument.
    pub backend: Backend = Backend::Real;
}}

/// What is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Fill {
    /// The same printable text in every file, as in the original.
    Text,
}

/// Where the operations go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Backend {
    Real,
    Null,
}

impl Params {
    /// Looks whether the values can be worked with.
    ///
    /// # Errors
    /// `BadJob`, naming the parameter and what would be right.
    pub fn check(&self) -> Result<(), Failure> {
        let mut names = HashSet::new();
        for (index, location) in self.locations.iter().enumerate() {
            let parameter = format!("locations[{index}]");
            location.check(&parameter)?;
            if !names.insert(&location.name) {
                let message = format!(
                    "parameter \"{parameter}\": \"{}\" is there twice; \
                     give it a larger weight instead",
                    location.name
                );
                return Err(bad_parameter(&parameter, message));
            }
        }
        Ok(())
    }

    /// Whether all files may be deleted before the transactions are done.
    pub fn may_run_out(&self) -> bool {
        let deletes = matches!(self.bias_create, Bias::OutOfTen(share) if share < 10);
        deletes && self.transactions > self.files
    }

    /// Those of thread `index`: the first has PostMark's sequence for the seed, the others one
    /// that follows from it.
    pub fn of_thread(&self, index: u32) -> Self {
        let mut own = self.clone();
        if index > 0 {
            let drawn = SplitMix::stream(self.seed.into(), index.into()).draw();
            own.seed = (drawn as u32).max(1);
        }
        own
    }
}

/// A directory that files are spread over.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Location {
    /// Name of the directory.
    pub name: String,
    /// How often it is drawn, relative to the other locations.
    #[serde(default = "one")]
    #[schemars(range(min = 1, max = WEIGHT))]
    pub weight: u32,
}

impl Location {
    fn check(&self, parameter: &str) -> Result<(), Failure> {
        within(&format!("{parameter}.weight"), self.weight, 1..=WEIGHT)?;
        file_name(&format!("{parameter}.name"), &self.name)?;
        Ok(())
    }
}

fn one() -> u32 {
    1
}
