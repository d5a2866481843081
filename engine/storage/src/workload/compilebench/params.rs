//! The parameters, with the defaults of the original.

use std::path::PathBuf;

use kit::limits::within;
use kit::Size;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wire::Failure;

use super::synthetic::FILES;

const TREES: u32 = 1_000;
const OPERATIONS: u32 = 100_000;
const FILES_MIN: u32 = 20;
const FILES_MAX: u32 = 1_000_000;
const BUFFER_MIN: Size = Size(512);
const BUFFER_MAX: Size = Size(64 << 20);

/// Source trees are created, and then worked on as a developer of a kernel does.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// What happens to the trees.
    pub scenario: Scenario,
    /// Source trees that are created at first (the original's -i).
    #[schemars(range(min = 1, max = TREES))]
    pub trees: u32,
    /// Operations of the random scenario (the original's -r).
    #[schemars(range(min = 1, max = OPERATIONS))]
    #[schemars(extend("amount" = "count"))]
    pub operations: u32,
    /// Directory with the original's four files `dataset-*`, or others like them: a path and a
    /// size per line. Left out: trees are made up that are shaped like the original's.
    pub dataset: Option<PathBuf>,
    /// Files of a source tree that is made up; what a build makes and what a patch changes is
    /// in proportion.
    #[schemars(range(min = FILES_MIN, max = FILES_MAX))]
    #[schemars(extend("amount" = "count"))]
    pub files: u32,
    /// Bytes per read and write (the original's -b).
    pub buffer: Size,
    /// What is written.
    pub content: Fill,
    /// Wait at the end of every timed region until all of it is on the device. Switched off
    /// together with `cold` it is the original's -n.
    pub sync: bool,
    /// Drop the caches of the whole host before trees are worked on, so that they are read from
    /// the device; needs root. Reads are checked against the counters of the device.
    pub cold: bool,
    /// Seed of the choices. The original has 555.
    pub seed: u32,
    /// Measure where the original does: no sync in the time of the initial creation nor in the
    /// whole make-j scenario, caches dropped there once per stage, and one tree may be read
    /// twice; and go on with warm caches where they cannot be dropped.
    pub classic: bool,
    /// How records are moved.
    pub backend: BackendName,
}

/// What happens to the trees.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Scenario {
    /// One of seven operations at a time, on a tree chosen at random.
    Random,
    /// All trees are compiled, three are read, all are deleted (the original's --makej).
    MakeJ,
}

/// What is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Fill {
    /// The letter a over and over, as in the original: compresses to nothing.
    Classic,
    /// Random bytes, incompressible.
    Random,
}

/// How records are moved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BackendName {
    /// C streams, as in the original: the part of a file that fills no page is a write of its
    /// own.
    Stdio,
    /// Plain system calls.
    Sync,
    /// No I/O: measures the instrument.
    Null,
}

impl Params {
    /// Looks whether the values can be worked with.
    ///
    /// # Errors
    /// `BadJob`, naming the parameter and what would be right.
    pub fn check(&self) -> Result<(), Failure> {
        within("trees", self.trees, 1..=TREES)?;
        within("operations", self.operations, 1..=OPERATIONS)?;
        within("files", self.files, FILES_MIN..=FILES_MAX)?;
        within("buffer", self.buffer, BUFFER_MIN..=BUFFER_MAX)?;
        Ok(())
    }
}

impl Default for Params {
    fn default() -> Self {
        Self {
            scenario: Scenario::Random,
            trees: 30,
            operations: 100,
            dataset: None,
            files: FILES,
            buffer: Size(256 << 10),
            content: Fill::Random,
            sync: true,
            cold: true,
            seed: 555,
            classic: false,
            backend: BackendName::Stdio,
        }
    }
}
