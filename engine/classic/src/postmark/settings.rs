//! What the commands set, and the job that comes of it.

use std::fmt::Display;
use std::path::PathBuf;
use std::str::FromStr;

use kit::failure::bad_parameter;
use serde_json::{json, Map, Value};
use wire::Failure;

use super::commands::Command;
use crate::bench;

/// Everything that can be set, at first as in the original.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// Smallest and largest size of a file, in bytes.
    pub size: (u64, u64),
    pub number: u64,
    pub seed: u64,
    pub transactions: u64,
    /// `None`: the working directory.
    pub location: Option<PathBuf>,
    pub subdirectories: u64,
    pub read_block: u64,
    pub write_block: u64,
    pub buffering: bool,
    pub bias_read: i64,
    pub bias_create: i64,
    pub report: Form,
}

/// Form of the report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    Verbose,
    Terse,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            size: (500, 10_000),
            number: 500,
            seed: 42,
            transactions: 500,
            location: None,
            subdirectories: 0,
            read_block: 512,
            write_block: 512,
            buffering: true,
            bias_read: 5,
            bias_create: 5,
            report: Form::Verbose,
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
            Command::Size => self.size = size(name, operand)?,
            Command::Number => self.number = number(name, operand)?,
            Command::Seed => self.seed = number(name, operand)?,
            Command::Transactions => self.transactions = number(name, operand)?,
            Command::Location => self.location = Some(location(name, operand)?),
            Command::Subdirectories => self.subdirectories = number(name, operand)?,
            Command::ReadBlock => self.read_block = number(name, operand)?,
            Command::WriteBlock => self.write_block = number(name, operand)?,
            Command::Buffering => self.buffering = one_of(name, operand, &BUFFERING)?,
            Command::BiasRead => self.bias_read = number(name, operand)?,
            Command::BiasCreate => self.bias_create = number(name, operand)?,
            Command::Report => self.report = one_of(name, operand, &FORMS)?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// The parameters of the workload.
    pub fn parameters(&self) -> Map<String, Value> {
        let (smallest, largest) = self.size;
        bench::parameters(json!({
            "files": self.number,
            "transactions": self.transactions,
            "size": format!("{smallest}..{largest}"),
            "subdirectories": self.subdirectories,
            "read_block": self.read_block,
            "write_block": self.write_block,
            "buffering": self.buffering,
            "bias_read": self.bias_read,
            "bias_create": self.bias_create,
            // The original reads the clock between its phases only, and so do we.
            "timing": "pass",
            "seed": self.seed,
        }))
    }

    /// The directory in which files are made.
    pub fn directory(&self) -> PathBuf {
        self.location.clone().unwrap_or_else(|| PathBuf::from("."))
    }

    /// What `show` prints.
    pub fn show(&self) -> String {
        let (smallest, largest) = self.size;
        let form = match self.report {
            Form::Verbose => "verbose",
            Form::Terse => "terse",
        };
        let streams = match self.buffering {
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
            self.number,
            self.transactions,
            self.directory().display(),
            self.subdirectories,
            self.read_block,
            self.write_block,
            self.bias_read,
            self.bias_create,
            self.seed,
        )
    }
}

const BUFFERING: [(&str, bool); 2] = [("true", true), ("false", false)];
const FORMS: [(&str, Form); 2] = [("verbose", Form::Verbose), ("terse", Form::Terse)];

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

fn one_of<T: Copy>(name: &str, operand: &str, known: &[(&str, T); 2]) -> Result<T, Failure> {
    let found = known.iter().find(|(text, _)| *text == operand);
    let [(one, _), (other, _)] = known;
    found.map(|(_, value)| *value).ok_or_else(|| {
        let message = format!("\"{operand}\" is neither {one} nor {other}");
        wrong(name, message)
    })
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

    #[test]
    fn what_was_set_is_in_the_parameters() {
        let mut settings = Settings::default();
        for (command, operand) in [
            (Command::Size, "5120 524288"),
            (Command::Number, "7"),
            (Command::BiasRead, "-1"),
            (Command::Buffering, "false"),
            (Command::Location, "/mnt/spool 3"),
        ] {
            assert!(settings.set(command, "set", operand).unwrap());
        }
        let parameters = settings.parameters();
        assert_eq!(parameters["size"], "5120..524288");
        assert_eq!(parameters["files"], 7);
        assert_eq!(parameters["bias_read"], -1);
        assert_eq!(parameters["buffering"], false);
        assert_eq!(settings.directory(), PathBuf::from("/mnt/spool"));
        assert!(!settings.set(Command::Run, "run", "").unwrap());
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
        for (command, operand) in [
            (Command::Number, "5k"),
            (Command::Size, ""),
            (Command::Buffering, "yes"),
            (Command::Location, ""),
            (Command::Location, "+/mnt/b"),
        ] {
            let failure = settings.set(command, "set this", operand).unwrap_err();
            assert!(
                failure.message.starts_with("set this: "),
                "{}",
                failure.message
            );
        }
        assert_eq!(settings, Settings::default());
    }
}
