//! What a command line asks for, and the job that comes of it.

use std::num::NonZeroU32;
use std::path::PathBuf;

use kit::failure::bad_parameter;
use serde_json::{json, Map, Value};
use wire::Failure;

use crate::bench;
use crate::options::{Given, Line};

const MIB: u64 = 1 << 20;

/// Parameters of the workload, and the options that set them.
pub const PARAMETERS: &[(&str, &str)] = &[
    ("file", "-f"),
    ("block", "-b"),
    ("threads", "-t"),
    ("random_operations", "-r"),
    ("phases", "-k"),
];

/// A phase, by its number behind -k.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Phase {
    /// As the workload's parameter calls it.
    pub name: &'static str,
    /// Its rate, and the start of its other metrics and counters.
    pub metric: &'static str,
    /// In the tables.
    pub label: &'static str,
    /// In terse lines.
    pub terse: &'static str,
}

/// In the order in which they are executed.
pub const PHASES: [Phase; 4] = [
    phase("write", "write", "Write", "write"),
    phase("random-write", "random_write", "Random Write", "rwrite"),
    phase("read", "read", "Read", "read"),
    phase("random-read", "random_read", "Random Read", "rread"),
];

const fn phase(
    name: &'static str,
    metric: &'static str,
    label: &'static str,
    terse: &'static str,
) -> Phase {
    Phase {
        name,
        metric,
        label,
        terse,
    }
}

/// Whose tables are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Version {
    Release033,
    Snapshot2017,
    Snapshot2024,
}

/// As the workload calls them.
const VERSIONS: [(&str, Version); 3] = [
    ("0.3.3", Version::Release033),
    ("20170504", Version::Snapshot2017),
    ("20241028", Version::Snapshot2024),
];

/// A command line, understood.
pub struct Request {
    file_mib: NonZeroU32,
    block_bytes: u64,
    pub directory: PathBuf,
    pub threads: u32,
    random_operations: Option<u64>,
    /// Those that are executed.
    pub phases: Vec<Phase>,
    pub has_latencies: bool,
    pub is_terse: bool,
    in_turn: bool,
    sync: bool,
    is_direct: bool,
    verifies: bool,
    pub version: Version,
}

impl Request {
    /// What `line` asks for.
    ///
    /// # Errors
    /// `BadJob`, naming the option.
    pub fn of(line: &Line) -> Result<Self, Failure> {
        line.refuse_operands("-d")?;
        if line
            .options
            .iter()
            .filter(|given| given.name == "-d")
            .count()
            > 1
        {
            let message = "option -d: all files are made in one directory; name only that";
            return Err(bad_parameter("-d", message));
        }
        let mut request = Self::default();
        for given in &line.options {
            request.take(given)?;
        }
        if request.phases.is_empty() {
            let message = "option -k: nothing is left to do; leave a phase";
            return Err(bad_parameter("-k", message));
        }
        Ok(request)
    }

    /// The parameters of the workload.
    pub fn parameters(&self) -> Map<String, Value> {
        let usual_operations = match self.version {
            Version::Release033 | Version::Snapshot2017 => 1_000,
            Version::Snapshot2024 => 100_000,
        };
        let mut version = VERSIONS.iter();
        let version = version.find(|(_, version)| *version == self.version);
        bench::parameters(json!({
            "file": u64::from(self.file_mib.get()) * MIB,
            "block": self.block_bytes,
            "threads": self.threads,
            "phases": self.phases.iter().map(|phase| phase.name).collect::<Vec<_>>(),
            "random_operations": self.random_operations.unwrap_or(usual_operations),
            "version": version.map(|(name, _)| name),
            "sync": self.sync,
            "in_turn": self.in_turn,
            "access": if self.is_direct { "direct" } else { "as-found" },
            "content": if self.verifies { "random" } else { "zeroes" },
            "verify": self.verifies,
        }))
    }

    /// The files that will be made.
    pub fn files(&self) -> impl Iterator<Item = PathBuf> + '_ {
        (0..self.threads).map(|thread| self.directory.join(format!("tiotest.{thread}")))
    }

    fn take(&mut self, given: &Given) -> Result<(), Failure> {
        match given.name {
            "-f" => self.file_mib = given.value()?,
            "-b" => self.block_bytes = given.value()?,
            "-d" => self.directory = given.text().into(),
            "-t" => self.threads = given.value()?,
            "-r" => self.random_operations = Some(given.value()?),
            "-k" => self.leave_out(given)?,
            "-L" => self.has_latencies = false,
            "-T" => self.is_terse = true,
            "-W" => self.in_turn = true,
            "-S" => self.sync = true,
            "-X" => self.is_direct = true,
            "-c" => self.verifies = true,
            "--version" => self.version = version_of(given)?,
            other => unreachable!("{other} is in the table of options"),
        }
        Ok(())
    }

    fn leave_out(&mut self, given: &Given) -> Result<(), Failure> {
        let number: usize = given.value()?;
        let left_out = PHASES.get(number);
        let left_out =
            left_out.ok_or_else(|| given.wrong(format!("{number} is none of 0 to 3")))?;
        self.phases.retain(|phase| phase != left_out);
        Ok(())
    }
}

impl Default for Request {
    fn default() -> Self {
        Self {
            file_mib: NonZeroU32::new(10).expect("ten is not zero"),
            block_bytes: 4_096,
            directory: PathBuf::from("."),
            threads: 4,
            random_operations: None,
            phases: PHASES.into(),
            has_latencies: true,
            is_terse: false,
            in_turn: false,
            sync: false,
            is_direct: false,
            verifies: false,
            version: Version::Snapshot2024,
        }
    }
}

fn version_of(given: &Given) -> Result<Version, Failure> {
    let text = given.text().to_string_lossy();
    let found = VERSIONS.iter().find(|(name, _)| *name == text);
    found.map(|(_, version)| *version).ok_or_else(|| {
        let names: Vec<String> = VERSIONS
            .iter()
            .map(|(name, _)| (*name).to_owned())
            .collect();
        given.wrong(kit::params::unknown_name("version", &text, &names))
    })
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use super::*;
    use crate::options;

    fn request(text: &str) -> Result<Request, Failure> {
        let words = text.split_whitespace().map(OsString::from).collect();
        Request::of(&options::read(super::super::CHOICES, words)?)
    }

    #[test]
    fn the_lines_of_the_phoronix_profiles_are_understood() {
        for (tests, phases) in [
            ("-k3 -k2 -k1", json!(["write"])),
            ("-k3 -k2", json!(["write", "random-write"])),
            ("-k3 -k1", json!(["write", "read"])),
            ("-k2 -k1", json!(["write", "random-read"])),
        ] {
            let line = format!("-S {tests} -f 64 -t 32");
            let parameters = request(&line).unwrap().parameters();
            assert_eq!(parameters["phases"], phases, "{line}");
            assert_eq!(
                [&parameters["file"], &parameters["threads"]],
                [64 << 20, 32]
            );
            assert_eq!(parameters["sync"], true);
        }
    }

    #[test]
    fn the_number_of_random_operations_depends_on_the_version() {
        for (line, operations) in [
            ("", 100_000),
            ("--version 0.3.3", 1_000),
            ("--version=20170504", 1_000),
            ("--version 20170504 -r 7", 7),
        ] {
            let parameters = request(line).unwrap().parameters();
            assert_eq!(parameters["random_operations"], operations, "{line}");
        }
    }

    #[test]
    fn what_is_wrong_names_the_option() {
        for (line, option) in [
            ("-k 4", "-k"),
            ("-k0 -k1 -k2 -k3", "-k"),
            ("-f 0", "-f"),
            ("-d a -d b", "-d"),
            ("-M", "-M"),
            ("--version 0.4", "--version"),
            ("here", "-d"),
        ] {
            let failure = request(line).err().unwrap();
            assert_eq!(failure.parameter.as_deref(), Some(option), "{line}");
        }
    }
}
