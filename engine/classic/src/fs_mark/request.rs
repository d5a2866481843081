//! What a command line asks for, and the job that comes of it.

use std::num::NonZeroU32;
use std::path::PathBuf;

use kit::failure::bad_parameter;
use kit::Size;
use serde_json::{json, Map, Value};
use wire::Failure;

use crate::bench;
use crate::options::{Given, Line};
use crate::places::Places;

/// Parameters of the workload, and the options that set them.
pub const PARAMETERS: &[(&str, &str)] = &[
    ("directories", "-d"),
    ("files", "-n"),
    ("size", "-s"),
    ("write_block", "-w"),
    ("threads", "-t"),
    ("subdirectories", "-D"),
    ("files_per_subdirectory", "-N"),
    ("name_length", "-p"),
    ("random_characters", "-r"),
    ("loops", "-L"),
];

/// A way to sync.
#[derive(Debug, Clone, Copy)]
pub struct Method {
    /// As the workload calls it.
    pub name: &'static str,
    /// As the head of the table calls it.
    pub label: &'static str,
    pub about: &'static str,
}

/// By the number behind -S.
const METHODS: [Method; 7] = [
    method("none", "NO SYNC", "nothing is synced"),
    method(
        "inband",
        "INBAND FSYNC",
        "each file is synced before it is closed",
    ),
    method(
        "sync-first",
        "SYSTEM SYNC/SINGLE FSYNC",
        "all file systems are synced when all files are there, then one file of each thread",
    ),
    method(
        "post-reverse",
        "POST REVERSE",
        "files are synced when all are there, the last one first",
    ),
    method(
        "sync-post-reverse",
        "SYNC POST REVERSE",
        "all file systems are synced when all files are there, then each file, the last one first",
    ),
    method(
        "post",
        "POST",
        "files are synced in order when all are there",
    ),
    method(
        "sync-post",
        "SYNC POST",
        "all file systems are synced when all files are there, then each file in order",
    ),
];

const fn method(name: &'static str, label: &'static str, about: &'static str) -> Method {
    Method { name, label, about }
}

/// A command line, understood.
pub struct Request {
    pub places: Places,
    pub files: u64,
    pub size: Size,
    pub write_block: Size,
    pub threads: u32,
    pub method: Method,
    pub subdirectories: u32,
    /// 0: by the clock.
    pub files_per_subdirectory: u64,
    pub name_length: u64,
    pub random_characters: u64,
    is_kept: bool,
    /// 0: until the file system is full.
    loops: u32,
    pub log: PathBuf,
    pub is_verbose: bool,
}

impl Request {
    /// What `line` asks for.
    ///
    /// # Errors
    /// `BadJob`, naming the option.
    pub fn of(line: &Line) -> Result<Self, Failure> {
        line.refuse_operands("-d")?;
        let mut request = Self::default();
        for given in &line.options {
            request.take(given)?;
        }
        let directories = line.options.iter().filter(|given| given.name == "-d");
        let paths: Vec<PathBuf> = directories.map(|given| given.text().into()).collect();
        if paths.is_empty() {
            let message = "option -d: name the directory in which files are to be made";
            return Err(bad_parameter("-d", message));
        }
        request.places = Places::of("-d", &paths)?;
        // The original makes a name longer than -p says rather than leave out random characters.
        request.name_length = request.name_length.max(request.random_characters);
        Ok(request)
    }

    /// The parameters of the workload. Names, places and syncs are those of the original.
    pub fn parameters(&self) -> Map<String, Value> {
        bench::parameters(json!({
            "directories": self.places.names,
            "files": self.files,
            "size": self.size,
            "write_block": self.write_block,
            "threads": self.threads,
            "sync": self.method.name,
            "subdirectories": self.subdirectories,
            "files_per_subdirectory": self.files_per_subdirectory,
            "name_length": self.name_length,
            "random_characters": self.random_characters,
            "loops": self.loops,
            "keep": if self.is_kept { "for-good" } else { "never" },
            "classic": true,
        }))
    }

    fn take(&mut self, given: &Given) -> Result<(), Failure> {
        match given.name {
            "-n" => self.files = given.value()?,
            "-s" => self.size = given.value()?,
            "-w" => self.write_block = given.value()?,
            "-t" => self.threads = given.value()?,
            "-S" => self.method = method_of(given)?,
            "-D" => self.subdirectories = given.value()?,
            "-N" => self.files_per_subdirectory = given.value()?,
            "-p" => self.name_length = given.value()?,
            "-r" => self.random_characters = random_characters(given)?,
            "-k" => self.is_kept = true,
            "-L" => self.repeat(given.value::<NonZeroU32>()?.get()),
            "-F" => self.repeat(0),
            "-l" => self.log = given.text().into(),
            "-v" => self.is_verbose = true,
            // Taken together, for the paths share a directory.
            "-d" => {}
            other => unreachable!("{other} is in the table of options"),
        }
        Ok(())
    }

    fn repeat(&mut self, loops: u32) {
        self.is_kept = true;
        // -F prevails over -L wherever it stands.
        self.loops = if self.loops == 0 { 0 } else { loops };
    }
}

impl Default for Request {
    fn default() -> Self {
        Self {
            places: Places {
                directory: PathBuf::new(),
                names: Vec::new(),
            },
            files: 1_000,
            size: Size(51_200),
            write_block: Size(16_384),
            threads: 1,
            method: METHODS[1],
            subdirectories: 0,
            files_per_subdirectory: 0,
            name_length: 40,
            random_characters: 24,
            is_kept: false,
            loops: 1,
            log: "fs_log.txt".into(),
            is_verbose: false,
        }
    }
}

fn random_characters(given: &Given) -> Result<u64, Failure> {
    match given.value()? {
        0 => Err(given
            .wrong("without random characters all files of a second have one name; use 1 or more")),
        number => Ok(number),
    }
}

fn method_of(given: &Given) -> Result<Method, Failure> {
    let number: usize = given.value()?;
    let method = METHODS.get(number).copied();
    method.ok_or_else(|| given.wrong(format!("{number} is none of 0 to 6")))
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
        let line = "-d scratch -L 10 -s 1048576 -n 4000 -D 32";
        let parameters = request(line).unwrap().parameters();
        assert_eq!(parameters["directories"], json!(["scratch"]));
        assert_eq!(parameters["size"], json!(Size(1 << 20)));
        assert_eq!(
            [
                &parameters["files"],
                &parameters["subdirectories"],
                &parameters["loops"]
            ],
            [4_000, 32, 10]
        );
        assert_eq!(
            [&parameters["keep"], &parameters["sync"]],
            ["for-good", "inband"]
        );
        let parameters = request("-d scratch -s 1048576 -n 5000 -t 4 -S0")
            .unwrap()
            .parameters();
        assert_eq!(
            [&parameters["keep"], &parameters["sync"]],
            ["never", "none"]
        );
        assert_eq!(parameters["threads"], 4);
    }

    #[test]
    fn filling_up_prevails_over_a_number_of_passes() {
        for line in ["-d s -F -L 3", "-d s -L 3 -F"] {
            let parameters = request(line).unwrap().parameters();
            assert_eq!(parameters["loops"], 0, "{line}");
        }
    }

    #[test]
    fn a_name_is_as_long_as_its_random_characters() {
        for (line, length, random) in [
            ("-d s -p 5 -r 7", 7, 7),
            ("-d s -r 7 -p 0", 7, 7),
            ("-d s -p 12 -r 8", 12, 8),
            ("-d s -r 50", 50, 50),
        ] {
            let parameters = request(line).unwrap().parameters();
            let found = [&parameters["name_length"], &parameters["random_characters"]];
            assert_eq!(found, [length, random], "{line}");
        }
    }

    #[test]
    fn what_is_wrong_names_the_option() {
        for (line, option) in [
            ("", "-d"),
            ("scratch", "-d"),
            ("-d s -S 7", "-S"),
            ("-d s -n many", "-n"),
            ("-d s -L 0", "-L"),
            ("-d s -r 0", "-r"),
        ] {
            let failure = request(line).err().unwrap();
            assert_eq!(failure.parameter.as_deref(), Some(option), "{line}");
        }
    }
}
