//! What a command line asks for.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::PathBuf;

use kit::failure::bad_parameter;
use kit::Size;
use serde_json::{json, Map, Value};
use wire::Failure;

use super::choices::CHOICES;
use super::columns::LAST_TEST;
use crate::options::{self, Given};

/// Bytes of a size without a suffix, and of the processor's cache per unit of -S.
const KB: u64 = 1024;

/// A command line, read. `parameters` are those that both workloads have under one name.
#[derive(Debug, Default)]
pub struct Request {
    /// Every option in its order, as the banner shows it.
    pub options: Vec<Given>,
    pub parameters: Map<String, Value>,
    pub files: BTreeSet<u64>,
    pub records: BTreeSet<u64>,
    /// Bounds of auto mode, as the parameter `auto` has them.
    pub bounds: Map<String, Value>,
    pub is_auto: bool,
    pub no_crossover: bool,
    /// Tests by number; empty for those that are usual.
    pub tests: BTreeSet<u32>,
    pub with_positioned: bool,
    pub no_retest: bool,
    pub is_foreign: bool,
    pub path: Option<PathBuf>,
    /// Paths after -F.
    pub paths: Vec<PathBuf>,
    pub children: Vec<u32>,
    pub fewest: Option<u32>,
    pub most: Option<u32>,
    pub threads: bool,
    pub each_child: bool,
    pub release_pause_us: u64,
    pub no_stonewall: bool,
    pub sequential_mix: bool,
    pub readers: Option<Readers>,
    pub divided: bool,
    pub first_cpu: Option<u32>,
    pub purges: bool,
    pub cache_kb: Option<u64>,
    pub line_bytes: Option<u64>,
    pub figures: Figures,
    pub matrices: bool,
    pub spreadsheet: Option<PathBuf>,
    pub logs_operations: bool,
    pub shows_machine: bool,
    pub asks: Option<Asks>,
}

/// Unit of the figures.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Figures {
    #[default]
    Rate,
    Operations,
    Latency,
}

/// Children that read in the mixed workload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Readers {
    Number(u32),
    Percent(u32),
}

/// What is printed instead of measuring.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asks {
    Help,
    Version,
}

impl Request {
    /// Reads a command line.
    ///
    /// # Errors
    /// `BadJob`, naming the option.
    pub fn read(arguments: Vec<OsString>) -> Result<Self, Failure> {
        let line = options::read(CHOICES, arguments)?;
        let mut request = Self::default();
        for given in &line.options {
            let is_taken = request.take_sizes(given)?
                || request.take_children(given)?
                || request.take_output(given)?
                || request.take_conduct(given)?;
            assert!(is_taken, "{} is in the table and nowhere else", given.name);
        }
        request.options = line.options;
        request.take_operands(line.operands)?;
        Ok(request)
    }

    /// Whether many children are asked for.
    pub fn is_throughput(&self) -> bool {
        !self.children.is_empty() || self.has_range()
    }

    /// Whether a range of numbers of children is asked for.
    pub fn has_range(&self) -> bool {
        self.fewest.is_some() || self.most.is_some()
    }

    /// What one of many children is called.
    pub fn child(&self) -> &'static str {
        match self.threads {
            true => "thread",
            false => "process",
        }
    }

    /// Whether records are moved otherwise than by plain calls, in the tests that can do so.
    pub fn has_own_backend(&self) -> bool {
        self.parameters.contains_key("backend")
    }

    /// Bytes that -p reads before each record.
    pub fn purge_bytes(&self) -> u64 {
        match self.purges {
            true => self.cache_kb() * KB,
            false => 0,
        }
    }

    /// Size of the processor's cache, in kB.
    pub fn cache_kb(&self) -> u64 {
        self.cache_kb.unwrap_or(1024)
    }

    /// Files, records, tests: the grid of a single stream.
    fn take_sizes(&mut self, given: &Given) -> Result<bool, Failure> {
        match given.name {
            "-a" => self.is_auto = true,
            "-A" => {
                (self.is_auto, self.no_crossover) = (true, true);
                self.tests.extend([0, 1]);
            }
            "-z" => self.no_crossover = true,
            "-s" => drop(self.files.insert(size(given)?)),
            "-r" => drop(self.records.insert(size(given)?)),
            "-n" => self.bound("file_min", size(given)?),
            "-g" => self.bound("file_max", size(given)?),
            "-y" => self.bound("record_min", size(given)?),
            "-q" => self.bound("record_max", size(given)?),
            "-+x" => self.bound("multiplier", given.value::<u64>()?),
            "-i" => drop(self.tests.insert(test(given)?)),
            "-E" => self.with_positioned = true,
            "-+n" => self.no_retest = true,
            "-+E" => self.is_foreign = true,
            "-f" => self.path = Some(given.text().into()),
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn take_children(&mut self, given: &Given) -> Result<bool, Failure> {
        match given.name {
            "-t" => self.children.push(given.value()?),
            "-l" => self.fewest = Some(given.value()?),
            "-u" => self.most = Some(given.value()?),
            "-T" => self.threads = true,
            "-C" => self.each_child = true,
            "-d" => self.release_pause_us = given.value()?,
            "-x" => self.no_stonewall = true,
            "-F" => self.paths.push(given.text().into()),
            "-+B" => self.sequential_mix = true,
            "-+K" => self.readers = Some(Readers::Number(given.value()?)),
            "-+p" => self.readers = Some(Readers::Percent(given.value()?)),
            "-+k" => self.divided = true,
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// What is shown of what was found.
    fn take_output(&mut self, given: &Given) -> Result<bool, Failure> {
        match given.name {
            "-R" => self.matrices = true,
            "-b" => {
                self.matrices = true;
                self.spreadsheet = Some(given.text().into());
            }
            "-N" => self.figures = Figures::Latency,
            "-O" if self.figures != Figures::Latency => self.figures = Figures::Operations,
            "-O" => {}
            "-M" => self.shows_machine = true,
            "-Q" => self.logs_operations = true,
            "-L" => self.line_bytes = Some(given.value()?),
            "-h" => self.asks = Some(Asks::Help),
            "-v" => self.asks = self.asks.or(Some(Asks::Version)),
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// How records are moved.
    fn take_conduct(&mut self, given: &Given) -> Result<bool, Failure> {
        match given.name {
            "-B" => self.move_by("mmap", given)?,
            "-D" => self.map_with("async", given)?,
            "-G" => self.map_with("sync", given)?,
            "-H" => self.queue(true, given)?,
            "-k" => self.queue(false, given)?,
            "-c" => self.set("include_close", true),
            "-e" => self.set("include_fsync", true),
            "-I" => self.set("access", "direct"),
            "-j" => self.set("stride", given.value::<u64>()?),
            "-J" => self.set("think_ms", given.value::<u64>()?),
            "-K" => self.set("jitter", true),
            "-o" => self.set("open_sync", "sync"),
            "-+D" => self.set("open_sync", "dsync"),
            "-+r" => self.set("open_sync", "rsync"),
            "-p" => self.purges = true,
            "-S" => self.cache_kb = Some(given.value()?),
            "-P" => self.first_cpu = Some(given.value()?),
            "-V" => self.fill_with(given.value::<u64>()? as u8),
            "-w" => self.set("keep", true),
            "-W" => self.set("locks", "file"),
            "-+l" => self.set("locks", "record"),
            "-+d" => {
                self.set("content", "diagnostic");
                self.set("verify_every_byte", true);
            }
            "-+X" => self.set("pattern", 0xbb),
            "-+Z" => self.set("pattern", 0xa5),
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Only -F takes more than one word.
    fn take_operands(&mut self, operands: Vec<OsString>) -> Result<(), Failure> {
        match operands.first() {
            Some(operand) if self.paths.is_empty() => {
                let operand = operand.to_string_lossy();
                let message = format!("\"{operand}\" belongs to no option; --help lists them");
                Err(bad_parameter("options", message))
            }
            _ => {
                self.paths.extend(operands.into_iter().map(PathBuf::from));
                Ok(())
            }
        }
    }

    fn bound(&mut self, name: &str, value: u64) {
        self.bounds.insert(name.to_owned(), json!(value));
    }

    fn set(&mut self, name: &str, value: impl Into<Value>) {
        self.parameters.insert(name.to_owned(), value.into());
    }

    /// Maps the file, with this call of msync(2) for each record written.
    fn map_with(&mut self, msync: &str, given: &Given) -> Result<(), Failure> {
        self.move_by("mmap", given)?;
        self.set_once("msync", json!(msync), "-D or -G", given)
    }

    /// Keeps several records under way. As in the original, there is one at least.
    fn queue(&mut self, copies: bool, given: &Given) -> Result<(), Failure> {
        self.move_by("libaio", given)?;
        self.set("depth", given.value::<u64>()?.max(1));
        self.set_once("copies", json!(copies), "-H or -k", given)
    }

    fn move_by(&mut self, backend: &str, given: &Given) -> Result<(), Failure> {
        self.set_once(
            "backend",
            json!(backend),
            "-B, -D and -G, or -H, or -k",
            given,
        )
    }

    /// Sets what other options must not have set otherwise; one of `options` is to be chosen.
    fn set_once(
        &mut self,
        name: &str,
        value: Value,
        options: &str,
        given: &Given,
    ) -> Result<(), Failure> {
        match self.parameters.insert(name.to_owned(), value.clone()) {
            Some(other) if other != value => {
                Err(given.wrong(format!("records are moved in one way; give {options}")))
            }
            _ => Ok(()),
        }
    }

    /// As in the original, 0 stands for the pattern of the revision.
    fn fill_with(&mut self, pattern: u8) {
        self.set("content", "uniform");
        self.set("verify_every_byte", true);
        if pattern != 0 {
            self.set("pattern", pattern);
        }
    }
}

/// A size as IOzone reads it: a number without a suffix is one of kB.
fn size(given: &Given) -> Result<u64, Failure> {
    let text = given.text().to_string_lossy();
    let in_kb = match text.ends_with(|letter: char| letter.is_ascii_digit()) {
        true => format!("{text}k"),
        false => text.into_owned(),
    };
    let read = in_kb.parse::<Size>();
    read.map(Size::bytes).map_err(|_| {
        let text = given.text().to_string_lossy();
        given.wrong(format!(
            "\"{text}\" is not a size; write a whole number of kB, or one with k, m or g"
        ))
    })
}

fn test(given: &Given) -> Result<u32, Failure> {
    let number: u32 = given.value()?;
    if number > LAST_TEST {
        let message = format!("there is no test {number}; use 0 to {LAST_TEST}");
        return Err(given.wrong(message));
    }
    Ok(number)
}

#[cfg(test)]
mod tests;
