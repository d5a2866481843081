//! What can be asked of the workload, and what is refused. Letters in the help are the
//! original's options.

use std::collections::HashSet;

use kit::content::Filling;
use kit::failure::bad_parameter;
use kit::limits::{file_name, within, NAME_BYTES};
use kit::{params, Size};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use wire::Failure;

use super::sync_method::SyncMethod;

const FILES: u64 = 10_000_000;
const SIZE: Size = Size(1 << 40);
const WRITE_BLOCK: Size = Size(16 << 20);
const THREADS: u32 = 1_024;
const DIRECTORIES: usize = 1_024;
const SUBDIRECTORIES: u32 = 1_000_000;
const LOOPS: u32 = 100_000;

/// What becomes of the files of a loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Keep {
    /// Removed when the loop is over, and the removal is measured.
    Never,
    /// Removed when the last loop is over, so that directories fill up loop by loop (-k, -L).
    UntilEnd,
    /// Left behind, with the directories they lie in (-k, -L as the original does it).
    ForGood,
}

/// What is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Fill {
    /// Zeroes, as the original: nothing compresses better.
    Zeroes,
    /// Random bytes, incompressible.
    Random,
}

/// Where the operations go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BackendName {
    /// System calls.
    Sync,
    /// No I/O: measures the loops themselves.
    Null,
}

/// Parameters of the workload.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// Files that each thread creates in each loop (-n).
    #[schemars(range(min = 1, max = FILES))]
    #[schemars(extend("amount" = "count"))]
    pub files: u64,
    /// Size of each file (-s). 0: files stay empty, and only the name space is measured.
    pub size: Size,
    /// Bytes per write (-w).
    pub write_block: Size,
    /// Threads that work at once (-t): a multiple of the number of directories, and raised to
    /// it when there are fewer.
    #[schemars(range(min = 1, max = THREADS))]
    pub threads: u32,
    /// When data are forced to the device (-S).
    pub sync: SyncMethod,
    /// Directories in the target that threads take in turn (-d), as relative paths; those that
    /// are missing are made. Empty: the target itself.
    #[schemars(length(max = DIRECTORIES))]
    pub directories: Vec<String>,
    /// Subdirectories of each directory that files are spread over (-D). 0: none.
    #[schemars(range(max = SUBDIRECTORIES))]
    pub subdirectories: u32,
    /// Files that a thread puts into one subdirectory before it takes the next (-N). 0: as many
    /// as bring it around once in a loop; with `classic`, as many as fit into three minutes.
    pub files_per_subdirectory: u64,
    /// Characters of a file name (-p).
    #[schemars(range(min = 1, max = NAME_BYTES))]
    pub name_length: usize,
    /// How many of them, at the end, are random (-r).
    #[schemars(range(min = 1, max = NAME_BYTES))]
    pub random_characters: usize,
    /// How often the work is done; each time makes a row of its own (-L). 0: until the file
    /// system is full (-F).
    #[schemars(range(max = LOOPS))]
    pub loops: u32,
    /// What becomes of the files of a loop.
    pub keep: Keep,
    /// What is written: `zeroes`, `random`, or shares of it that a file system can save,
    /// {"compressible": 0.5, "dedupable": 0.2}, measured before the trial. Then each 4 KiB has a
    /// stamp of its own, written inside the timed region (some 10 ns).
    pub content: Filling<Fill>,
    /// Seed of the file names: the same seed gives the same names. With `classic` it is the time
    /// of day.
    pub seed: u64,
    /// Do what the original does where that is a defect: sync means all file systems of the
    /// machine; the directory is made anew before every file; names bear the time of day; which
    /// subdirectory comes first is left to the clock, and without `files_per_subdirectory` it is
    /// the only one for three minutes.
    pub classic: bool,
    /// Where the operations go.
    pub backend: BackendName,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            files: 1_000,
            size: Size(51_200),
            write_block: Size(16 << 10),
            threads: 1,
            sync: SyncMethod::Inband,
            directories: Vec::new(),
            subdirectories: 0,
            files_per_subdirectory: 0,
            name_length: 40,
            random_characters: 24,
            loops: 1,
            keep: Keep::Never,
            content: Filling::Named(Fill::Zeroes),
            seed: 1,
            classic: false,
            backend: BackendName::Sync,
        }
    }
}

impl Params {
    /// Reads, checks, and raises the number of threads.
    ///
    /// # Errors
    /// `BadJob`, naming the parameter.
    pub fn parse(parameters: &Map<String, Value>) -> Result<Self, Failure> {
        let mut params: Self = params::parse(parameters)?;
        within("files", params.files, 1..=FILES)?;
        within("size", params.size, Size(0)..=SIZE)?;
        within("write_block", params.write_block, Size(1)..=WRITE_BLOCK)?;
        within("threads", params.threads, 1..=THREADS)?;
        within("subdirectories", params.subdirectories, 0..=SUBDIRECTORIES)?;
        let length = within("name_length", params.name_length, 1..=NAME_BYTES)?;
        within("random_characters", params.random_characters, 1..=length)?;
        within("loops", params.loops, 0..=LOOPS)?;
        within("directories", params.directories.len(), 0..=DIRECTORIES)?;
        params.check_directories()?;
        params.check_spread()?;
        params.check_end()?;
        params.distribute()?;
        Ok(params)
    }

    /// Directories that the threads share.
    pub fn directory_count(&self) -> u32 {
        self.directories.len().max(1) as u32
    }

    /// Files of all threads in a loop.
    pub fn files_per_loop(&self) -> u64 {
        self.files * u64::from(self.threads)
    }

    fn check_directories(&self) -> Result<(), Failure> {
        let mut names = HashSet::new();
        for (index, name) in self.directories.iter().enumerate() {
            let parameter = format!("directories[{index}]");
            let mut parts = name.split('/');
            if !parts.all(|part| file_name(&parameter, part).is_ok()) {
                let message = format!(
                    "parameter \"{parameter}\": {name:?} is not a path below the target; write \
                     names of at most {NAME_BYTES} bytes, without \"..\", with \"/\" between them"
                );
                return Err(bad_parameter(&parameter, message));
            }
            if !names.insert(name) {
                let message = format!(
                    "parameter \"{parameter}\": \"{name}\" is there twice; \
                     use more threads for threads that share a directory"
                );
                return Err(bad_parameter(&parameter, message));
            }
        }
        Ok(())
    }

    fn check_spread(&self) -> Result<(), Failure> {
        if self.files_per_subdirectory > 0 && self.subdirectories == 0 {
            let message = "parameter \"files_per_subdirectory\": there are no subdirectories to \
                           spread over; set \"subdirectories\" too";
            return Err(bad_parameter("files_per_subdirectory", message));
        }
        Ok(())
    }

    fn check_end(&self) -> Result<(), Failure> {
        if self.loops == 0 && (self.keep == Keep::Never || self.backend == BackendName::Null) {
            let message = "parameter \"loops\": with 0 the file system must fill up; \
                           set \"keep\" to \"until-end\" or \"for-good\" and use real I/O";
            return Err(bad_parameter("loops", message));
        }
        Ok(())
    }

    fn distribute(&mut self) -> Result<(), Failure> {
        let directories = self.directory_count();
        self.threads = self.threads.max(directories);
        if !self.threads.is_multiple_of(directories) {
            let message = format!(
                "parameter \"threads\": {} threads cannot share {directories} directories evenly; \
                 use a multiple of {directories}",
                self.threads
            );
            return Err(bad_parameter("threads", message));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::testing::assert_refusals_name;

    fn parse(value: Value) -> Result<Params, Failure> {
        Params::parse(value.as_object().unwrap())
    }

    #[test]
    fn the_defaults_are_those_of_the_original() {
        let params = parse(json!({})).unwrap();
        assert_eq!((params.files, params.size), (1_000, Size(51_200)));
        assert_eq!((params.name_length, params.random_characters), (40, 24));
        assert_eq!(params.write_block, Size(16_384));
        assert_eq!(params.sync, SyncMethod::Inband);
    }

    #[test]
    fn each_directory_has_a_thread_at_least() {
        let params = parse(json!({"directories": ["0", "1/deep", "2"]})).unwrap();
        assert_eq!((params.threads, params.files_per_loop()), (3, 3_000));
        let uneven = parse(json!({"directories": ["0", "1"], "threads": 3})).unwrap_err();
        assert!(
            uneven.message.contains("multiple of 2"),
            "{}",
            uneven.message
        );
    }

    #[test]
    fn refusals_name_the_parameter() {
        assert_refusals_name(
            parse,
            [
                (json!({"files": 0}), "files"),
                (json!({"size": "2T"}), "size"),
                (json!({"write_block": 0}), "write_block"),
                (json!({"threads": 0}), "threads"),
                (json!({"sync": "fsync"}), "sync"),
                (json!({"name_length": 8}), "random_characters"),
                (json!({"name_length": 256}), "name_length"),
                (json!({"loops": 0}), "loops"),
                (
                    json!({"loops": 0, "keep": "for-good", "backend": "null"}),
                    "loops",
                ),
                (
                    json!({"files_per_subdirectory": 5}),
                    "files_per_subdirectory",
                ),
                (json!({"directories": ["../up"]}), "directories[0]"),
                (json!({"directories": ["a", "/b"]}), "directories[1]"),
                (json!({"directories": [""]}), "directories[0]"),
                (json!({"directories": ["a", "a"]}), "directories[1]"),
            ],
        );
    }
}
