//! What can be asked of the workload, and what is refused. Letters in the help are the
//! original's options.

use kit::failure::bad_parameter;
use kit::limits::file_name;
use kit::{params, Size};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use wire::Failure;

pub use storage::workload::choices::{BackendName, Fill};

use super::phase::Phase;
use super::tree::Shape;

const DIRECTORIES_ALL: u64 = 10_000_000;
const FILES_ALL: u64 = 100_000_000;

/// Which phases there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Phases {
    /// The tree is made and removed.
    All,
    /// It is made, and left behind (-C).
    Create,
    /// One that was left behind is removed (-R).
    Remove,
}

/// Who does the work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// One thread of the engine, by system calls.
    InProcess,
    /// The programs mkdir, dd, rm and rmdir, started for each directory and file as the original
    /// starts them: most of the time is theirs.
    Spawn,
}

kit::parameters! {
/// Parameters of the workload.
pub struct Params {
    /// Levels of directories below the root of the tree (-l).
    pub levels: u32 = 4, in 0..=255;
    /// Directories in each directory that is not at the bottom (-d).
    pub directories: u32 = 10;
    /// Files in each directory, the root and the bottom included (-f).
    #[schemars(extend("amount" = "count", "least" = 2))]
    pub files: u32 = 10;
    /// Size of each file (-s, there in units of 4096 bytes).
    pub size: Size = Size(40 << 10), within Size(0)..=Size(1 << 40);
    /// Bytes per write.
    pub write_block: Size = Size(4 << 10), within Size(1)..=Size(16 << 20);
    /// Which phases there are.
    pub phases: Phases = Phases::All;
    /// Name of the root of the tree, in the target. (The original takes one that contains its
    /// process number, and cannot find the tree again to remove it.)
    pub root: String = "LEVEL0".to_owned();
    /// Who does the work. Only `spawn` can be compared with figures of the original.
    pub mode: Mode = Mode::InProcess;
    /// What is written.
    pub content: Fill = Fill::Zeroes;
    /// Where the operations go.
    pub backend: BackendName = BackendName::Sync;
}}

impl Params {
    /// Reads and checks.
    ///
    /// # Errors
    /// `BadJob`, naming the parameter.
    pub fn parse(parameters: &Map<String, Value>) -> Result<Self, Failure> {
        let params: Self = params::read(parameters)?;
        params.check_counts()?;
        file_name("root", &params.root)?;
        params.check_spawn()?;
        Ok(params)
    }

    /// The tree.
    pub fn shape(&self) -> Shape {
        Shape {
            levels: self.levels,
            directories: self.directories,
            files: self.files,
        }
    }

    /// The phases that are executed.
    pub fn chosen(&self) -> impl Iterator<Item = Phase> {
        let phases = self.phases;
        Phase::ALL.into_iter().filter(move |phase| match phases {
            Phases::All => true,
            Phases::Create => phase.creates(),
            Phases::Remove => !phase.creates(),
        })
    }

    /// Directories or files that a phase works on.
    pub fn operations(&self, phase: Phase) -> u64 {
        let counted = match phase {
            Phase::CreateDirectories | Phase::RemoveDirectories => self.shape().directories_all(),
            Phase::CreateFiles | Phase::RemoveFiles => self.shape().files_all(),
        };
        counted.expect("what cannot be counted is refused")
    }

    fn check_counts(&self) -> Result<(), Failure> {
        let too_many = |parameter: &str, what: &str, limit: u64| {
            let message = format!(
                "parameter \"{parameter}\": {} levels of {} directories make more than {limit} \
                 {what}; use fewer",
                self.levels, self.directories
            );
            bad_parameter(parameter, message)
        };
        match self.shape().directories_all() {
            Some(directories) if directories <= DIRECTORIES_ALL => {}
            _ => return Err(too_many("levels", "directories", DIRECTORIES_ALL)),
        }
        match self.shape().files_all() {
            Some(files) if files <= FILES_ALL => Ok(()),
            _ => Err(too_many("files", "files", FILES_ALL)),
        }
    }

    fn check_spawn(&self) -> Result<(), Failure> {
        if self.mode == Mode::InProcess {
            return Ok(());
        }
        if !self.size.bytes().is_multiple_of(self.write_block.bytes()) {
            let message = format!(
                "parameter \"size\": dd writes whole blocks only; use a multiple of {}, or mode \
                 \"in-process\"",
                self.write_block
            );
            return Err(bad_parameter("size", message));
        }
        if self.content != Fill::Zeroes {
            let message = "parameter \"content\": dd takes zeroes from the kernel; use \
                           \"zeroes\", or mode \"in-process\"";
            return Err(bad_parameter("content", message));
        }
        if self.backend == BackendName::Null {
            let message = "parameter \"backend\": programs do real I/O; use \"sync\", or mode \
                           \"in-process\"";
            return Err(bad_parameter("backend", message));
        }
        Ok(())
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
        let kib = params.operations(Phase::CreateFiles) * params.size.bytes() / 1_024;
        assert_eq!(kib, 4_444_400);
        assert!(params.chosen().eq(Phase::ALL));
    }

    #[test]
    fn refusals_name_the_parameter() {
        assert_refusals_name(
            parse,
            [
                (json!({"levels": 256}), "levels"),
                (json!({"levels": 20}), "levels"),
                (
                    json!({"levels": 255, "directories": 4_000_000_000_u32}),
                    "levels",
                ),
                (json!({"files": 4_000_000_000_u32}), "files"),
                (json!({"directories": -1}), "directories"),
                (json!({"size": "2T"}), "size"),
                (json!({"write_block": 0}), "write_block"),
                (json!({"root": ""}), "root"),
                (json!({"root": ".."}), "root"),
                (json!({"root": "a/b"}), "root"),
                (json!({"root": "a/"}), "root"),
                (json!({"mode": "spawn", "size": 5_000}), "size"),
                (json!({"mode": "spawn", "content": "random"}), "content"),
                (json!({"mode": "spawn", "backend": "null"}), "backend"),
            ],
        );
    }
}
