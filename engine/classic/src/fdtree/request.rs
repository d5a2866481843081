//! What a command line asks for, and the job that comes of it.

use std::fs;
use std::path::PathBuf;
use std::process;

use kit::failure::bad_parameter;
use serde_json::{json, Map, Value};
use wire::Failure;

use crate::bench;
use crate::options::{Given, Line};

const BLOCK_BYTES: u64 = 4_096;

/// Parameters of the workload, and the options that set them.
pub const PARAMETERS: &[(&str, &str)] = &[
    ("levels", "-l"),
    ("directories", "-d"),
    ("files", "-f"),
    ("size", "-s"),
    ("root", "--root"),
];

/// A command line, understood.
pub struct Request {
    pub levels: u32,
    pub directories: u32,
    pub files: u32,
    blocks: u32,
    pub directory: PathBuf,
    /// Name of the tree.
    name: Option<String>,
    creates_only: bool,
    removes_only: bool,
    pub in_process: bool,
}

impl Request {
    /// What `line` asks for.
    ///
    /// # Errors
    /// `BadJob`, naming the option.
    pub fn of(line: &Line) -> Result<Self, Failure> {
        line.refuse_operands("-o")?;
        let mut request = Self {
            levels: 4,
            directories: 10,
            files: 10,
            blocks: 10,
            directory: PathBuf::from("."),
            name: None,
            creates_only: false,
            removes_only: false,
            in_process: false,
        };
        for given in &line.options {
            request.take(given)?;
        }
        if !request.creates() && request.name.is_none() {
            let message = "option -R: name the tree that -C has left behind with --root";
            return Err(bad_parameter("-R", message));
        }
        Ok(request)
    }

    /// The parameters of the workload.
    pub fn parameters(&self) -> Map<String, Value> {
        bench::parameters(json!({
            "levels": self.levels,
            "directories": self.directories,
            "files": self.files,
            "size": self.file_bytes(),
            "write_block": BLOCK_BYTES,
            "phases": match (self.creates(), self.removes()) {
                (true, true) => "all",
                (true, false) => "create",
                (false, _) => "remove",
            },
            "root": self.name(),
            "mode": if self.in_process { "in-process" } else { "spawn" },
        }))
    }

    /// Whether the tree is made. As in the original, both options are as good as none.
    pub fn creates(&self) -> bool {
        self.creates_only || !self.removes_only
    }

    fn removes(&self) -> bool {
        self.removes_only || !self.creates_only
    }

    /// Size of each file.
    pub fn file_bytes(&self) -> u64 {
        u64::from(self.blocks) * BLOCK_BYTES
    }

    /// The root of the tree.
    pub fn root(&self) -> PathBuf {
        self.directory.join(self.name())
    }

    fn name(&self) -> String {
        self.name.clone().unwrap_or_else(|| {
            let host = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
            let host = host.trim().split('.').next().unwrap_or_default();
            format!("LEVEL0.{host}.{}", process::id())
        })
    }

    fn take(&mut self, given: &Given) -> Result<(), Failure> {
        match given.name {
            "-l" => self.levels = given.value()?,
            "-d" => self.directories = given.value()?,
            "-f" => self.files = given.value()?,
            "-s" => self.blocks = given.value()?,
            "-o" => self.directory = given.text().into(),
            "-C" => self.creates_only = true,
            "-R" => self.removes_only = true,
            "--root" => self.name = Some(given.value()?),
            "--in-process" => self.in_process = true,
            other => unreachable!("{other} is in the table of options"),
        }
        Ok(())
    }
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
    fn without_options_the_parameters_are_those_of_the_original() {
        let parameters = request("").unwrap().parameters();
        let counts = ["levels", "directories", "files", "size"].map(|name| &parameters[name]);
        assert_eq!(counts, [4, 10, 10, 40_960]);
        assert_eq!(
            [&parameters["phases"], &parameters["mode"]],
            ["all", "spawn"]
        );
        let name = parameters["root"].as_str().unwrap();
        assert!(name.ends_with(&format!(".{}", process::id())), "{name}");
    }

    #[test]
    fn creating_and_removing_together_is_all() {
        for (line, phases) in [
            ("-C", "create"),
            ("-R --root old", "remove"),
            ("-CR", "all"),
            ("-f 3 -d5", "all"),
        ] {
            assert_eq!(
                request(line).unwrap().parameters()["phases"],
                phases,
                "{line}"
            );
        }
    }

    #[test]
    fn what_is_wrong_names_the_option() {
        for (line, option) in [
            ("-R", "-R"),
            ("-l -1", "-l"),
            ("-s ten", "-s"),
            ("-D", "-D"),
            ("here", "-o"),
        ] {
            let failure = request(line).err().unwrap();
            assert_eq!(failure.parameter.as_deref(), Some(option), "{line}");
        }
    }
}
