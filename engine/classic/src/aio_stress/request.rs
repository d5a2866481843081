//! What a command line asks for, and the job that comes of it.

use std::path::PathBuf;

use kit::failure::bad_parameter;
use kit::Size;
use serde_json::{json, Map, Value};
use wire::Failure;

use crate::bench;
use crate::options::{Given, Line};
use crate::places::Places;

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;

/// Parameters of the workload, and the options that set them.
pub const PARAMETERS: &[(&str, &str)] = &[
    ("file", "-s"),
    ("record", "-r"),
    ("alignment", "-a"),
    ("depth", "-d"),
    ("batch", "-i"),
    ("submit_max", "-b"),
    ("contexts", "-c"),
    ("context_offset", "-C"),
    ("threads", "-t"),
];

/// A stage, by its number behind -o.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stage {
    /// As the workload's parameter calls it.
    pub name: &'static str,
    /// Its rate, and the start of its other metrics.
    pub metric: &'static str,
    /// In the report.
    pub label: &'static str,
}

/// In the order in which they are executed.
pub const STAGES: [Stage; 4] = [
    stage("write", "write", "write"),
    stage("read", "read", "read"),
    stage("random-write", "random_write", "random write"),
    stage("random-read", "random_read", "random read"),
];

const fn stage(name: &'static str, metric: &'static str, label: &'static str) -> Stage {
    Stage {
        name,
        metric,
        label,
    }
}

/// A command line, understood.
pub struct Request {
    /// Files as they were named.
    pub files: Vec<PathBuf>,
    pub places: Places,
    pub file: Size,
    pub record: Size,
    pub alignment: Size,
    pub depth: u32,
    pub batch: u32,
    /// 0: no limit.
    pub submit_max: u32,
    pub contexts: u32,
    pub context_offset: Size,
    threads: u32,
    /// As they were asked for; none: all.
    pub stages: Vec<Stage>,
    is_direct: bool,
    sync: bool,
    fsync: bool,
    pub shows_submits: bool,
    pub shows_completions: bool,
    pub verifies: bool,
    stonewall: bool,
    is_kept: bool,
}

impl Request {
    /// What `line` asks for.
    ///
    /// # Errors
    /// `BadJob`, naming the option.
    pub fn of(line: &Line) -> Result<Self, Failure> {
        let files: Vec<PathBuf> = line.operands.iter().map(PathBuf::from).collect();
        if files.is_empty() {
            let message = "FILE: name the file, or several, that requests are made of";
            return Err(bad_parameter("FILE", message));
        }
        let places = Places::of("FILE", &files)?;
        if places.names.iter().any(|name| name.contains('/')) {
            let message = "FILE: all files must lie in one directory";
            return Err(bad_parameter("FILE", message));
        }
        let mut request = Self {
            files,
            places,
            file: Size(GIB),
            record: Size(64 * KIB),
            alignment: Size(4 * KIB),
            depth: 64,
            batch: 8,
            submit_max: 0,
            contexts: 1,
            context_offset: Size(2 * MIB),
            threads: 1,
            stages: Vec::new(),
            is_direct: false,
            sync: false,
            fsync: true,
            shows_submits: false,
            shows_completions: false,
            verifies: false,
            stonewall: true,
            is_kept: true,
        };
        for given in &line.options {
            request.take(given)?;
        }
        Ok(request)
    }

    /// The parameters of the workload; random offsets are those of the original.
    pub fn parameters(&self) -> Map<String, Value> {
        let stages = match self.stages.as_slice() {
            [] => &STAGES,
            asked => asked,
        };
        bench::parameters(json!({
            "file": self.file,
            "files": self.files.len(),
            "names": self.places.names,
            "keep": self.is_kept,
            "record": self.record,
            "alignment": self.alignment,
            "depth": self.depth,
            "batch": self.batch,
            "submit_max": self.submit_max,
            "contexts": self.contexts,
            "context_offset": self.context_offset,
            "threads": self.threads,
            "stages": stages.iter().map(|stage| stage.name).collect::<Vec<_>>(),
            "access": if self.is_direct { "direct" } else { "as-found" },
            "sync": self.sync,
            "fsync": self.fsync,
            "stonewall": self.stonewall,
            "content": if self.verifies { "letter" } else { "zeroes" },
            "verify": self.verifies,
            "classic": true,
        }))
    }

    fn take(&mut self, given: &Given) -> Result<(), Failure> {
        match given.name {
            "-s" => self.file = size(given, MIB)?,
            "-r" => self.record = size(given, KIB)?,
            "-a" => self.alignment = size(given, KIB)?,
            "-d" => self.depth = given.value()?,
            "-i" => self.batch = given.value()?,
            "-b" => self.submit_max = given.value()?,
            "-c" => self.contexts = given.value()?,
            "-C" => self.context_offset = size(given, MIB)?,
            "-t" => self.threads = given.value()?,
            "-o" => self.stages.push(stage_of(given)?),
            _ => self.switch(given.name),
        }
        Ok(())
    }

    fn switch(&mut self, name: &str) {
        match name {
            "-O" => self.is_direct = true,
            "-S" => self.sync = true,
            "-n" => self.fsync = false,
            "-l" => self.shows_submits = true,
            "-L" => self.shows_completions = true,
            "-v" => self.verifies = true,
            "-x" => self.stonewall = false,
            "-u" => self.is_kept = false,
            other => unreachable!("{other} is in the table of options"),
        }
    }
}

/// A whole number with a suffix, or else of `bare_bytes`.
fn size(given: &Given, bare_bytes: u64) -> Result<Size, Failure> {
    let text = given.text().to_string_lossy();
    let (digits, unit_bytes) = match text.char_indices().next_back() {
        Some((at, 'g' | 'G')) => (&text[..at], GIB),
        Some((at, 'm' | 'M')) => (&text[..at], MIB),
        Some((at, 'k' | 'K')) => (&text[..at], KIB),
        Some((at, 'b' | 'B')) => (&text[..at], 1),
        _ => (&*text, bare_bytes),
    };
    let bytes = digits.parse::<u64>().ok();
    let bytes = bytes.and_then(|count| count.checked_mul(unit_bytes));
    bytes.map(Size).ok_or_else(|| {
        given.wrong(format!(
            "\"{text}\" is not a size; use a whole number, with g, m, k or b behind it"
        ))
    })
}

fn stage_of(given: &Given) -> Result<Stage, Failure> {
    let number: usize = given.value()?;
    let stage = STAGES.get(number).copied();
    stage.ok_or_else(|| given.wrong(format!("{number} is none of 0 to 3")))
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
    fn the_line_of_the_phoronix_profile_is_understood() {
        let line = "-s 2g -r 64k -t 3 -o 2 aio-test-file";
        let parameters = request(line).unwrap().parameters();
        assert_eq!(parameters["file"], json!(Size(2 * GIB)));
        assert_eq!(parameters["record"], json!(Size(64 * KIB)));
        assert_eq!(parameters["stages"], json!(["random-write"]));
        assert_eq!(parameters["names"], json!(["aio-test-file"]));
        assert_eq!([&parameters["keep"], &parameters["fsync"]], [true, true]);
        assert_eq!(parameters["threads"], 3);
    }

    #[test]
    fn sizes_without_a_suffix_are_those_of_the_option() {
        let request = request("-s 3 -r 16 -a 512b -C 1M f").unwrap();
        assert_eq!(request.file, Size(3 * MIB));
        assert_eq!(request.record, Size(16 * KIB));
        assert_eq!(
            (request.alignment, request.context_offset),
            (Size(512), Size(MIB))
        );
    }

    #[test]
    fn what_is_wrong_names_the_option() {
        for (line, option) in [
            ("", "FILE"),
            ("a /dev/null", "FILE"),
            ("-s 1.5g f", "-s"),
            ("-r k f", "-r"),
            ("-o 4 f", "-o"),
            ("-I 5 f", "-I"),
            ("-m shm f", "-m"),
        ] {
            let failure = request(line).err().unwrap();
            assert_eq!(failure.parameter.as_deref(), Some(option), "{line}");
        }
    }
}
