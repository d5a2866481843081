//! The command language, and what it sets: a row for each command.

use std::fmt::Display;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

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

/// Why a command was not obeyed.
#[derive(Debug)]
pub enum Fault {
    /// The original does not take this value either: it says so, and what was set before stays.
    Kept(Failure),
    /// Ends a script.
    Ends(Failure),
}

impl From<Failure> for Fault {
    fn from(failure: Failure) -> Self {
        Self::Ends(failure)
    }
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
    /// Where files are made, if that was set.
    location: Option<PathBuf>,
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
            location: None,
            is_terse: false,
        }
    }
}

impl Settings {
    /// Obeys a `set` command; false when `command` is none.
    ///
    /// # Errors
    /// `BadJob`, naming the command and what would be right.
    pub fn set(&mut self, command: Command, name: &str, operand: &str) -> Result<bool, Fault> {
        match command {
            Count(parameter, _) => self.put(parameter, number(name, operand, AT_LEAST_ONE)?),
            Bias(parameter) => self.put(parameter, number(name, operand, -1..=10)?),
            Buffering => self.put("buffering", is_first(name, operand, ["true", "false"])?),
            Size => self.size = size(name, operand)?,
            Location => self.location = Some(location(name, operand)?),
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

    /// Where files are made.
    pub fn directory(&self) -> &Path {
        self.location.as_deref().unwrap_or(Path::new("."))
    }

    /// Subdirectories that the files are spread over.
    pub fn subdirectories(&self) -> u64 {
        self.parameters["subdirectories"]
            .as_u64()
            .unwrap_or_default()
    }

    /// What `show` prints, in the words by which programs find it. `here` is where the files of
    /// no location are.
    pub fn show(&self, here: &Path) -> String {
        let (smallest, largest) = self.size;
        let of = |name: &str| &self.parameters[name];
        let block = |name: &str| bytes(of(name).as_u64().unwrap_or_default());
        let sizes = match smallest == largest {
            true => format!("are {} in size", bytes(smallest)),
            false => format!(
                "range between {} and {} in size",
                bytes(smallest),
                bytes(largest)
            ),
        };
        let place = match &self.location {
            None => format!("{}\n", here.display()),
            Some(location) => format!("\n\t{} (weight=1)\n", location.display()),
        };
        let subdirectories = match self.subdirectories() {
            0 => String::new(),
            1 => "1 subdirectory will be used\n".to_owned(),
            more => format!("{more} subdirectories will be used\n"),
        };
        let using = match of("buffering") == &json!(true) {
            true => "Using",
            false => "Not using",
        };
        format!(
            "Current configuration is:\n\
             The base number of files is {}\n\
             Transactions: {}\n\
             Files {sizes}\n\
             Working directory: {place}\
             {subdirectories}\
             Block sizes are: read={}, write={}\n\
             Biases are: read/append={}, create/delete={}\n\
             {using} Unix buffered file I/O\n\
             Random number generator seed is {}\n\
             Report format is {}.\n",
            of("files"),
            of("transactions"),
            block("read_block"),
            block("write_block"),
            of("bias_read"),
            of("bias_create"),
            of("seed"),
            if self.is_terse { "terse" } else { "verbose" },
        )
    }
}

/// A size as `show` writes it.
fn bytes(size: u64) -> String {
    match size {
        0..1024 => format!("{size} bytes"),
        1024..0x10_0000 => format!("{:.2} kilobytes", size as f64 / 1024.0),
        _ => format!("{:.2} megabytes", size as f64 / 1_048_576.0),
    }
}

/// As in the original, a largest size that is missing or too small is the smallest.
fn size(name: &str, operand: &str) -> Result<(u64, u64), Fault> {
    let mut sizes = operand.split_whitespace();
    let smallest = number(name, sizes.next().unwrap_or(""), AT_LEAST_ONE)?;
    let largest = match sizes.next() {
        Some(text) => number(name, text, i64::MIN..=i64::MAX)?.max(smallest),
        None => smallest,
    };
    match sizes.next() {
        None => Ok((smallest as u64, largest as u64)),
        Some(third) => Err(wrong(name, format!("\"{third}\" is one number too many")).into()),
    }
}

/// What the original takes for an amount.
const AT_LEAST_ONE: RangeInclusive<i64> = 1..=i64::MAX;

/// A number in the `range` of the original, which reads as much of `operand` as is one, else 0:
/// what it takes for another number than is written ends a script here.
fn number(name: &str, operand: &str, range: RangeInclusive<i64>) -> Result<i64, Fault> {
    let digits = operand.trim_start_matches(['-', '+']);
    let sign = &operand[..operand.len() - digits.len()];
    let end = digits.find(|letter: char| !letter.is_ascii_digit());
    let read = match &digits[..end.unwrap_or(digits.len())] {
        "" => 0,
        figures if sign.len() < 2 => format!("{sign}{figures}").parse().unwrap_or(i64::MAX),
        _ => 0,
    };
    if operand.is_empty() || !range.contains(&read) {
        return Err(kept(name, format!("\"{operand}\" is out of range")));
    }
    let whole = operand.parse();
    whole.map_err(|error| wrong(name, format!("\"{operand}\" is no number: {error}")).into())
}

/// Whether it is the first of two words that `operand` may be.
fn is_first(name: &str, operand: &str, words: [&str; 2]) -> Result<bool, Fault> {
    let [first, second] = words;
    if !words.contains(&operand) {
        return Err(kept(
            name,
            format!("\"{operand}\" is neither {first} nor {second}"),
        ));
    }
    Ok(operand == first)
}

/// A weight behind the only location changes nothing.
fn location(name: &str, operand: &str) -> Result<PathBuf, Fault> {
    if operand.starts_with(['+', '-']) {
        let message = "several locations are left out here; spread the files with \
                       \"set subdirectories\"";
        return Err(wrong(name, message).into());
    }
    let path = match operand.rsplit_once(' ') {
        Some((path, weight)) if weight.parse::<u32>().is_ok() => path.trim_end(),
        _ => operand,
    };
    match path {
        "" => Err(kept(name, "no directory is named")),
        path => Ok(path.into()),
    }
}

fn kept(name: &str, message: impl Display) -> Fault {
    let message = format!("{message}; what was set before stays, as in the original");
    Fault::Kept(wrong(name, message))
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
    fn set(settings: &mut Settings, line: &str) -> Result<bool, Fault> {
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
        assert_eq!(settings.directory(), Path::new("/mnt/spool"));
        assert!(!set(&mut settings, "run").unwrap());
    }

    #[test]
    fn a_missing_or_smaller_largest_size_is_the_smallest() {
        assert_eq!(size("s", "100").unwrap(), (100, 100));
        assert_eq!(size("s", "100 50").unwrap(), (100, 100));
        assert_eq!(size("s", "100 -1").unwrap(), (100, 100));
        assert!(size("s", "1 2 3").is_err());
    }

    #[test]
    fn what_the_original_does_not_take_is_told_and_what_was_set_stays() {
        let mut settings = Settings::default();
        for line in [
            "set seed 0",
            "set transactions 0",
            "set number 0",
            "set number -5",
            "set number k5",
            "set number",
            "set subdirectories 0",
            "set read 0",
            "set write -1k",
            "set size 0 10",
            "set size",
            "set bias read 11",
            "set bias create -2",
            "set bias create",
            "set buffering yes",
            "set report short",
            "set location",
        ] {
            match set(&mut settings, line) {
                Err(Fault::Kept(failure)) => assert!(failure.message.starts_with("set this: ")),
                other => panic!("{line}: {other:?}"),
            }
        }
        assert_eq!(settings, Settings::default());
    }

    #[test]
    fn what_the_original_takes_for_something_else_ends_a_script() {
        let mut settings = Settings::default();
        for line in [
            "set number 5k",
            "set number 99999999999999999999",
            "set bias read often",
            "set size 5 10k",
            "set location +/mnt/b",
        ] {
            match set(&mut settings, line) {
                Err(Fault::Ends(failure)) => assert!(failure.message.starts_with("set this: ")),
                other => panic!("{line}: {other:?}"),
            }
        }
        assert_eq!(settings, Settings::default());
    }

    #[test]
    fn what_is_set_is_shown_in_the_words_of_the_original() {
        let mut settings = Settings::default();
        let shown = settings.show(Path::new("/home"));
        assert!(shown.contains("Files range between 500 bytes and 9.77 kilobytes in size\n"));
        assert!(shown.contains("\nWorking directory: /home\nBlock sizes are: read=512 bytes, "));
        for line in [
            "set size 1048576",
            "set location /mnt/a 2",
            "set directories 5",
            "set buffering false",
        ] {
            assert!(set(&mut settings, line).unwrap());
        }
        let shown = settings.show(Path::new("/home"));
        assert!(shown.contains("\nFiles are 1.00 megabytes in size\n"));
        assert!(
            shown.contains("\nWorking directory: \n\t/mnt/a (weight=1)\n5 subdirectories will be")
        );
        assert!(shown.contains("\nNot using Unix buffered"));
    }
}
