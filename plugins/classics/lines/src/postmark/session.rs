//! A session: commands are obeyed one after another, and what was set stays set.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead, BufReader, ErrorKind, Write};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use kit::append::append;
use kit::failure::{bad_parameter, failure, io_failure};
use kit::stop;
use wire::{Failure, FailureKind};

use super::commands::{self, Command, Fault, Settings};
use super::report::Report;
use crate::bench::{job, Bench};
use crate::overwrite;

/// Files of commands within files of commands: more is a file that loads itself.
const DEPTH: usize = 16;

/// Where commands come from.
pub enum Source {
    /// A person: an error is printed, and the next command read.
    Terminal,
    /// A file, called so: an error ends everything.
    Script(String),
}

/// A session under way.
pub struct Session<'a, 'b> {
    bench: &'a mut Bench<'b>,
    settings: Settings,
    depth: usize,
}

impl<'a, 'b> Session<'a, 'b> {
    /// A session in which nothing is set yet.
    pub fn new(bench: &'a mut Bench<'b>) -> Self {
        Self {
            bench,
            settings: Settings::default(),
            depth: 0,
        }
    }

    /// Obeys the commands in a file; breaks when one of them was `quit`.
    ///
    /// # Errors
    /// `BadJob`, naming file and line.
    pub fn load(&mut self, path: &Path) -> Result<ControlFlow<()>, Failure> {
        let name = path.display().to_string();
        let file = File::open(path).map_err(|error| {
            let message = format!("cannot read commands from {name}: {error}");
            failure(FailureKind::BadJob, message)
        })?;
        if self.depth == DEPTH {
            let message = format!("{name} is loaded from {DEPTH} files; does it load itself?");
            return Err(bad_parameter("load", message));
        }
        self.bench
            .print(&format!("Reading configuration from file '{name}'\n"));
        self.depth += 1;
        let ended = self.obey(BufReader::new(file), &Source::Script(name));
        self.depth -= 1;
        ended
    }

    /// Obeys commands until there are no more, or until `quit`.
    ///
    /// # Errors
    /// Of a script: what one of its commands could not do, with the number of the line.
    pub fn obey(
        &mut self,
        lines: impl BufRead,
        source: &Source,
    ) -> Result<ControlFlow<()>, Failure> {
        self.prompt(source);
        for (at, line) in lines.lines().enumerate() {
            stop::check()?;
            let obeyed = line
                .map_err(|error| failure(FailureKind::BadJob, error.to_string()).into())
                .and_then(|line| self.command(&line));
            let told = match (obeyed, source) {
                (Ok(ControlFlow::Break(())), _) => return Ok(ControlFlow::Break(())),
                (Ok(ControlFlow::Continue(())), _) => None,
                (Err(Fault::Kept(failure) | Fault::Ends(failure)), Source::Terminal) => {
                    Some(failure)
                }
                (Err(Fault::Kept(failure)), Source::Script(name)) => {
                    Some(placed(failure, name, at + 1))
                }
                (Err(Fault::Ends(failure)), Source::Script(name)) => {
                    return Err(placed(failure, name, at + 1))
                }
            };
            if let Some(failure) = told {
                self.bench.remark(&failure.message);
            }
            self.prompt(source);
        }
        Ok(ControlFlow::Continue(()))
    }

    fn prompt(&mut self, source: &Source) {
        if let Source::Terminal = source {
            self.bench.print("pm>");
        }
    }

    fn command(&mut self, line: &str) -> Result<ControlFlow<()>, Fault> {
        let Some((entry, operand)) = commands::read(line)? else {
            return Ok(ControlFlow::Continue(()));
        };
        if self.settings.set(entry.command, entry.names[0], operand)? {
            return Ok(ControlFlow::Continue(()));
        }
        match entry.command {
            Command::Quit => return Ok(ControlFlow::Break(())),
            Command::Help => self.bench.print(&commands::help(operand)),
            Command::Show => {
                let here = std::env::current_dir().unwrap_or_default();
                let into = self.writable(operand);
                self.put(into, &self.settings.show(&here))?;
            }
            Command::Run => self.run(operand)?,
            // As in the original, a `quit` ends only the file in which it stands.
            Command::Load => drop(self.load(Path::new(operand))?),
            _ => unreachable!("every other command sets something"),
        }
        Ok(ControlFlow::Continue(()))
    }

    fn run(&mut self, operand: &str) -> Result<(), Failure> {
        let into = self.writable(operand);
        let directory = self.settings.directory().to_owned();
        if self.bench.force() {
            make_room(&directory, self.settings.subdirectories())?;
        }
        let mut report = Report::default();
        let job = job("postmark", self.settings.parameters(), &directory);
        self.bench.execute(&job, &mut report)?;
        self.put(into, &report.text(self.settings.is_terse))
    }

    /// The file that is named, if it can be added to. Otherwise that is said before anything is
    /// done and, as in the original, the text is printed.
    fn writable<'o>(&mut self, operand: &'o str) -> Option<&'o Path> {
        let path = (!operand.is_empty()).then(|| Path::new(operand))?;
        match try_append(path) {
            Ok(()) => Some(path),
            Err(error) => {
                let message = format!("cannot write to {operand}: {error}; it is printed instead");
                self.bench.remark(&message);
                None
            }
        }
    }

    /// Prints `text`, or adds it to a file.
    fn put(&mut self, into: Option<&Path>, text: &str) -> Result<(), Failure> {
        let Some(path) = into else {
            self.bench.print(text);
            return Ok(());
        };
        append(path, |file| file.write_all(text.as_bytes()))
            .map_err(|error| io_failure("write", path, &error))
    }
}

/// Whether a file can be added to, without leaving one that was not there. A pipe is not opened: its
/// reader would take that for all of it.
fn try_append(path: &Path) -> io::Result<()> {
    match path.metadata() {
        Ok(found) if !found.is_file() && !found.is_dir() => Ok(()),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            File::create_new(path)?;
            fs::remove_file(path)
        }
        _ => OpenOptions::new().append(true).open(path).map(drop),
    }
}

fn placed(failure: Failure, name: &str, line: usize) -> Failure {
    let message = format!("{name}:{line}: {}", failure.message);
    Failure { message, ..failure }
}

/// Removes the files whose names a run may want: numbers, in the directory itself or in `s`
/// and a number.
fn make_room(directory: &Path, subdirectories: u64) -> Result<(), Failure> {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if subdirectories < 2 {
        return overwrite::remove(named(directory, is_number)?.into_iter());
    }
    let homes = named(directory, |name| {
        name.strip_prefix('s').is_some_and(is_number)
    })?;
    let mut files = Vec::new();
    for home in &homes {
        files.extend(named(home, is_number)?);
    }
    overwrite::remove(files.into_iter())?;
    homes.iter().try_for_each(|home| {
        fs::remove_dir(home).map_err(|error| io_failure("remove directory", home, &error))
    })
}

/// What lies in a directory under a name that is `wanted`.
fn named(directory: &Path, wanted: impl Fn(&str) -> bool) -> Result<Vec<PathBuf>, Failure> {
    let entries = directory.read_dir().and_then(|found| {
        let paths = found.map(|entry| entry.map(|entry| entry.path()));
        paths.collect::<io::Result<Vec<_>>>()
    });
    let paths = entries.map_err(|error| io_failure("list directory", directory, &error))?;
    let is_wanted = |path: &PathBuf| {
        path.file_name()
            .is_some_and(|name| wanted(&name.to_string_lossy()))
    };
    Ok(paths.into_iter().filter(is_wanted).collect())
}
