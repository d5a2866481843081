//! The parameters, with the defaults of the original.

use std::path::PathBuf;

use kit::Size;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::synthetic::FILES;

kit::parameters! {
/// Source trees are created, and then worked on as a developer of a kernel does.
pub struct Params {
    /// What happens to the trees.
    pub scenario: Scenario = Scenario::Random;
    /// Source trees that are created at first (the original's -i).
    pub trees: u32 = 30, in 1..=1_000;
    /// Operations of the random scenario (the original's -r).
    #[schemars(extend("amount" = "count", "least" = 20))]
    pub operations: u32 = 100, in 1..=100_000;
    /// Directory with the original's four files `dataset-*`, or others like them: a path and a
    /// size per line. Left out: trees are made up that are shaped like the original's.
    #[schemars(extend("brings" = "reads the directory"))]
    pub dataset: Option<PathBuf> = None;
    /// Files of a source tree that is made up; what a build makes and what a patch changes is
    /// in proportion.
    #[schemars(extend("amount" = "count", "least" = 200))]
    pub files: u32 = FILES, in 20..=1_000_000;
    /// Bytes per read and write (the original's -b).
    pub buffer: Size = Size(256 << 10), within Size(512)..=Size(64 << 20);
    /// What is written.
    pub content: Fill = Fill::Random;
    /// Wait at the end of every timed region until all of it is on the device. Switched off
    /// together with `cold` it is the original's -n.
    pub sync: bool = true;
    /// Drop the caches of the whole host before trees are worked on, so that they are read from
    /// the device; needs root. Reads are checked against the counters of the device.
    pub cold: bool = true;
    /// Seed of the choices. The original has 555.
    pub seed: u32 = 555;
    /// Measure where the original does: no sync in the time of the initial creation nor in the
    /// whole make-j scenario, caches dropped there once per stage, and one tree may be read
    /// twice; and go on with warm caches where they cannot be dropped.
    pub classic: bool = false;
    /// How records are moved.
    pub backend: BackendName = BackendName::Stdio;
}}

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
