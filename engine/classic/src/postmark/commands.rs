//! The command language, and what it sets: a row for each command.

use std::fmt::Display;
use std::path::PathBuf;
use std::str::FromStr;

use kit::failure::bad_parameter;
use serde_json::{json, Map, Value};
use wire::Failure;

use crate::bench;

/// What a command does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Command {
    /// Sets this parameter of the workload, at first so many.
    Count(&'static str, u64),
    /// Sets this parameter of the workload: times out of ten, or -1.
    Bias(&'static str),
    Size,
    Location,
    Buffering,
    Report,
    Run,
    Load,
    Show,
    Help,
    Quit,
}

/// One line of `help`, and all spellings of the command.
pub struct Entry {
    pub command: Command,
    /// The usual spelling first.
    pub names: &'static [&'static str],
    pub operands: &'static str,
    pub about: &'static str,
}

macro_rules! entries {
    ($($names:expr, $operands:expr => $command:expr, $about:expr;)*) => {
        &[$(Entry { command: $command, names: &$names, operands: $operands, about: $about }),*]
    };
}

use Command::{Bias, Buffering, Count, Help, Load, Location, Quit, Report, Run, Show, Size};

/// All commands, in the order in which help lists them.
pub const ENTRIES: &[Entry] = entries![
    ["set size"], "LOW [HIGH]" => Size, "sizes of files, in bytes";
    ["set number"], "N" => Count("files", 500), "files in the pool";
    ["set seed"], "N" => Count("seed", 42), "seed of the random sequence";
    ["set transactions"], "N" => Count("transactions", 500), "transactions";
    ["set location"], "DIRECTORY" => Location, "where the files are made";
    ["set subdirectories", "set directories"], "N" => Count("subdirectories", 0),
        "subdirectories that the files are spread over";
    ["set read"], "N" => Count("read_block", 512), "bytes per read";
    ["set write"], "N" => Count("write_block", 512), "bytes per write";
    ["set buffering"], "true|false" => Buffering, "the C library's streams, or plain system calls";
    ["set bias read"], "N" => Bias("bias_read"),
        "how many times out of ten a file is read, not appended to; -1: neither";
    ["set bias create"], "N" => Bias("bias_create"),
        "how many times out of ten a file is created, not deleted; -1: neither";
    ["set report"], "verbose|terse" => Report, "form of the report";
    ["run"], "[FILE]" => Run, "do it; the report is added to FILE";
    ["load"], "FILE" => Load, "obey the commands in FILE";
    ["show"], "[FILE]" => Show, "print what is set, or add it to FILE";
    ["help", "?"], "[BEGINNING]" => Help, "list the commands";
    ["quit", "exit"], "" => Quit, "end";
];

/// The command that `line` gives and what stands behind it; `None` for a line without one.
///
/// # Errors
/// `BadJob`, with the commands that there are.
pub fn read(line: &str) -> Result<Option<(&'static Entry, &str)>, Failure> {
    let line = line.trim();
    if line.is_empty() || line.starts_with('#') {
        return Ok(None);
    }
    if line.starts_with('!') {
        let message = "commands are not passed on to a shell here; leave out the line with \"!\"";
        return Err(bad_parameter("!", message));
    }
    let spellings = ENTRIES
        .iter()
        .flat_map(|entry| entry.names.iter().map(move |name| (entry, *name)));
    for (entry, name) in spellings {
        let rest = line.strip_prefix(name);
        let is_whole = |rest: &&str| rest.is_empty() || rest.starts_with(char::is_whitespace);
        if let Some(rest) = rest.filter(is_whole) {
            return Ok(Some((entry, rest.trim())));
        }
    }
    let names: Vec<_> = ENTRIES
        .iter()
        .map(|entry| entry.names[0].to_owned())
        .collect();
    Err(bad_parameter(
        line,
        kit::params::unknown_name("command", line, &names),
    ))
}

/// The list of commands whose spelling starts with `beginning`.
pub fn help(beginning: &str) -> String {
    ENTRIES
        .iter()
        .filter(|entry| entry.names[0].starts_with(beginning))
        .map(|entry| format!("{} {} - {}\n", entry.names[0], entry.operands, entry.about))
        .collect()
}

/// Everything that can be set, at first as in the original.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// The workload's parameters that are one number, or a switch.
    parameters: Map<String, Value>,
    /// Smallest and largest size of a file, in bytes.
    size: (u64, u64),
    /// Where files are made.
    pub directory: PathBuf,
    /// Whether the report is one line.
    pub is_terse: bool,
}

impl Default for Settings {
    fn default() -> Self {
        let number = |entry: &Entry| match entry.command {
            Count(name, value) => Some((name.to_owned(), json!(value))),
            Bias(name) => Some((name.to_owned(), json!(5))),
            _ => None,
        };
        // The original reads the clock between its phases only, and so do we.
        let others = [("buffering", json!(true)), ("timing", json!("pass"))];
        let others = others.map(|(name, value)| (name.to_owned(), value));
        Self {
            parameters: ENTRIES.iter().filter_map(number).chain(others).collect(),
            size: (500, 10_000),
            directory: PathBuf::from("."),
            is_terse: false,
        }
    }
}

impl Settings {
    /// Obeys a `set` command; false when `command` is none.
    ///
    /// # Errors
    /// `BadJob`, naming the command and what would be right.
    pub fn set(&mut self, command: Command, name: &str, operand: &str) -> Result<bool, Failure> {
        match command {
            Count(parameter, _) => self.put(parameter, number::<u64>(name, operand)?),
            Bias(parameter) => self.put(parameter, number::<i64>(name, operand)?),
            Buffering => self.put("buffering", is_first(name, operand, ["true", "false"])?),
            Size => self.size = size(name, operand)?,
            Location => self.directory = location(name, operand)?,
            Report => self.is_terse = !is_first(name, operand, ["verbose", "terse"])?,
            Run | Load | Show | Help | Quit => return Ok(false),
        }
        Ok(true)
    }

    fn put(&mut self, parameter: &str, value: impl Into<Value>) {
        self.parameters.insert(parameter.to_owned(), value.into());
    }

    /// The parameters of the workload.
    pub fn parameters(&self) -> Map<String, Value> {
        let (smallest, largest) = self.size;
        let mut parameters = self.parameters.clone();
        let size = bench::parameters(json!({"size": format!("{smallest}..{largest}")}));
        parameters.extend(size);
        parameters
    }

    /// Subdirectories that the files are spread over.
    pub fn subdirectories(&self) -> u64 {
        self.parameters["subdirectories"]
            .as_u64()
            .unwrap_or_default()
    }

    /// What `show` prints.
    pub fn show(&self) -> String {
        let (smallest, largest) = self.size;
        let of = |name: &str| &self.parameters[name];
        let form = if self.is_terse { "terse" } else { "verbose" };
        let streams = match of("buffering") == &json!(true) {
            true => "through the C library's streams",
            false => "by system calls, one a block",
        };
        format!(
            "Set now:\n\
             \tfiles in the pool: {}\n\
             \ttransactions: {}\n\
             \tsizes of files: {smallest} to {largest} bytes\n\
             \tlocation: {}\n\
             \tsubdirectories: {}\n\
             \tblock sizes: read {}, write {}\n\
             \tbiases: read/append {}, create/delete {}\n\
             \tfiles are read and written {streams}\n\
             \tseed: {}\n\
             \treport: {form}\n",
            of("files"),
            of("transactions"),
            self.directory.display(),
            of("subdirectories"),
            of("read_block"),
            of("write_block"),
            of("bias_read"),
            of("bias_create"),
            of("seed"),
        )
    }
}

/// As in the original, a largest size that is missing or too small is the smallest.
fn size(name: &str, operand: &str) -> Result<(u64, u64), Failure> {
    let mut sizes = operand.split_whitespace();
    let smallest = number(name, sizes.next().unwrap_or(""))?;
    let largest = match sizes.next() {
        Some(text) => number::<u64>(name, text)?.max(smallest),
        None => smallest,
    };
    match sizes.next() {
        None => Ok((smallest, largest)),
        Some(third) => Err(wrong(name, format!("\"{third}\" is one number too many"))),
    }
}

fn number<T: FromStr<Err: Display>>(name: &str, operand: &str) -> Result<T, Failure> {
    let read = operand.parse();
    read.map_err(|error| wrong(name, format!("\"{operand}\" is not a number: {error}")))
}

/// Whether it is the first of two words that `operand` may be.
fn is_first(name: &str, operand: &str, words: [&str; 2]) -> Result<bool, Failure> {
    let [first, second] = words;
    if !words.contains(&operand) {
        return Err(wrong(
            name,
            format!("\"{operand}\" is neither {first} nor {second}"),
        ));
    }
    Ok(operand == first)
}

/// A weight behind the only location changes nothing.
fn location(name: &str, operand: &str) -> Result<PathBuf, Failure> {
    if operand.starts_with(['+', '-']) {
        let message = "several locations are left out here; spread the files with \
                       \"set subdirectories\"";
        return Err(wrong(name, message));
    }
    let path = match operand.rsplit_once(' ') {
        Some((path, weight)) if weight.parse::<u32>().is_ok() => path.trim_end(),
        _ => operand,
    };
    match path {
        "" => Err(wrong(name, "name a directory")),
        path => Ok(path.into()),
    }
}

fn wrong(name: &str, message: impl Display) -> Failure {
    bad_parameter(name, format!("{name}: {message}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn command(line: &str) -> Option<(Command, &str)> {
        let command = read(line).unwrap();
        command.map(|(entry, rest)| (entry.command, rest))
    }

    #[test]
    fn commands_are_read_with_what_stands_behind_them() {
        assert_eq!(command("set size 500 1000\n"), Some((Size, "500 1000")));
        assert_eq!(command("set bias read -1"), Some((Bias("bias_read"), "-1")));
        let blocks = Count("read_block", 512);
        assert_eq!(command("set read 512"), Some((blocks, "512")));
        let subdirectories = Count("subdirectories", 0);
        assert_eq!(command("set directories 5"), Some((subdirectories, "5")));
        assert_eq!(command("run"), Some((Run, "")));
        assert_eq!(command("? set"), Some((Help, "set")));
        assert_eq!(command(""), None);
        assert_eq!(command("# set size"), None);
    }

    #[test]
    fn what_is_no_command_is_named() {
        for line in ["set sizes 5", "quitt", "!rm file"] {
            assert!(read(line).is_err(), "{line}");
        }
        let failure = read("set sise 5").err().unwrap();
        assert!(
            failure.message.contains("\"set size\"?"),
            "{}",
            failure.message
        );
    }

    #[test]
    fn help_lists_what_begins_so() {
        assert_eq!(help("").lines().count(), ENTRIES.len());
        assert_eq!(help("set bias").lines().count(), 2);
    }

    /// Obeys a line that sets something.
    fn set(settings: &mut Settings, line: &str) -> Result<bool, Failure> {
        let (entry, operand) = read(line)?.unwrap();
        settings.set(entry.command, "set this", operand)
    }

    #[test]
    fn what_was_set_is_in_the_parameters() {
        let mut settings = Settings::default();
        for line in [
            "set size 5120 524288",
            "set number 7",
            "set bias read -1",
            "set buffering false",
            "set location /mnt/spool 3",
        ] {
            assert!(set(&mut settings, line).unwrap());
        }
        let parameters = settings.parameters();
        assert_eq!(parameters["size"], "5120..524288");
        assert_eq!(parameters["files"], 7);
        assert_eq!(parameters["bias_read"], -1);
        assert_eq!(parameters["buffering"], false);
        assert_eq!(settings.directory, PathBuf::from("/mnt/spool"));
        assert!(!set(&mut settings, "run").unwrap());
    }

    #[test]
    fn a_missing_or_smaller_largest_size_is_the_smallest() {
        assert_eq!(size("s", "100").unwrap(), (100, 100));
        assert_eq!(size("s", "100 50").unwrap(), (100, 100));
        assert!(size("s", "1 2 3").is_err());
    }

    #[test]
    fn what_is_wrong_names_the_command() {
        let mut settings = Settings::default();
        for line in [
            "set number 5k",
            "set size",
            "set buffering yes",
            "set location",
            "set location +/mnt/b",
        ] {
            let failure = set(&mut settings, line).unwrap_err();
            assert!(
                failure.message.starts_with("set this: "),
                "{}",
                failure.message
            );
        }
        assert_eq!(settings, Settings::default());
    }
}
