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

pub use storage::workload::choices::{BackendName, Fill};

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

kit::parameters! {
/// Parameters of the workload.
pub struct Params {
    /// Files that each thread creates in each loop (-n).
    #[schemars(extend("amount" = "count", "least" = 100))]
    pub files: u64 = 1_000, in 1..=10_000_000;
    /// Size of each file (-s). 0: files stay empty, and only the name space is measured.
    pub size: Size = Size(51_200), within Size(0)..=Size(1 << 40);
    /// Bytes per write (-w).
    pub write_block: Size = Size(16 << 10), within Size(1)..=Size(16 << 20);
    /// Threads that work at once (-t): a multiple of the number of directories, and raised to
    /// it when there are fewer.
    pub threads: u32 = 1, in 1..=1_024;
    /// When data are forced to the device (-S).
    pub sync: SyncMethod = SyncMethod::Inband;
    /// Directories in the target that threads take in turn (-d), as relative paths; those that
    /// are missing are made. Empty: the target itself.
    pub directories: Vec<String> = Vec::new(), up to 1_024;
    /// Subdirectories of each directory that files are spread over (-D). 0: none.
    pub subdirectories: u32 = 0, in 0..=1_000_000;
    /// Files that a thread puts into one subdirectory before it takes the next (-N). 0: as many
    /// as bring it around once in a loop; with `classic`, as many as fit into three minutes.
    pub files_per_subdirectory: u64 = 0;
    /// Characters of a file name (-p).
    pub name_length: usize = 40, in 1..=NAME_BYTES;
    /// How many of them, at the end, are random (-r).
    pub random_characters: usize = 24, in 1..=NAME_BYTES;
    /// How often the work is done; each time makes a row of its own (-L). 0: until the file
    /// system is full (-F).
    pub loops: u32 = 1, in 0..=100_000;
    /// What becomes of the files of a loop.
    pub keep: Keep = Keep::Never;
    /// What is written: `zeroes`, `random`, or shares of it that a file system can save,
    /// {"compressible": 0.5, "dedupable": 0.2}, measured before the trial. Then each 4 KiB has a
    /// stamp of its own, written inside the timed region (some 10 ns).
    pub content: Filling<Fill> = Filling::Named(Fill::Zeroes);
    /// Seed of the file names: the same seed gives the same names. With `classic` it is the time
    /// of day.
    pub seed: u64 = 1;
    /// Do what the original does where that is a defect: sync means all file systems of the
    /// machine; the directory is made anew before every file; names bear the time of day; which
    /// subdirectory comes first is left to the clock, and without `files_per_subdirectory` it is
    /// the only one for three minutes.
    pub classic: bool = false;
    /// Where the operations go.
    pub backend: BackendName = BackendName::Sync;
}}

impl Params {
    /// Reads, checks, and raises the number of threads.
    ///
    /// # Errors
    /// `BadJob`, naming the parameter.
    pub fn parse(parameters: &Map<String, Value>) -> Result<Self, Failure> {
        let mut params: Self = params::read(parameters)?;
        within(
            "random_characters",
            params.random_characters,
            1..=params.name_length,
        )?;
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

/// How files are synced. Directories never are. Whatever is done after the loop belongs to the
/// time that the rate is computed from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SyncMethod {
    /// Nothing is synced (-S 0).
    None,
    /// Each file is synced before it is closed (-S 1).
    Inband,
    /// After the loop, the file system is synced, then the first file of each thread (-S 2).
    SyncFirst,
    /// After the loop, each file is opened again, synced and closed, the last one first (-S 3).
    PostReverse,
    /// The file system is synced, then as `post-reverse` (-S 4).
    SyncPostReverse,
    /// After the loop, each file is opened again, synced and closed, in order (-S 5).
    Post,
    /// The file system is synced, then as `post` (-S 6).
    SyncPost,
}

/// Which files are opened again and synced when the loop is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Again {
    Nothing,
    First,
    InOrder,
    Reverse,
}

impl SyncMethod {
    /// Whether each file is synced before it is closed.
    pub fn is_inband(self) -> bool {
        self == Self::Inband
    }

    /// Whether the file system is synced when the loop is over.
    pub fn syncs_file_system(self) -> bool {
        matches!(
            self,
            Self::SyncFirst | Self::SyncPostReverse | Self::SyncPost
        )
    }

    /// What comes after that.
    pub fn again(self) -> Again {
        match self {
            Self::None | Self::Inband => Again::Nothing,
            Self::SyncFirst => Again::First,
            Self::Post | Self::SyncPost => Again::InOrder,
            Self::PostReverse | Self::SyncPostReverse => Again::Reverse,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use testing::assert_refusals_name;

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
