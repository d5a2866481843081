//! A session: commands are obeyed one after another, and what was set stays set.

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use kit::append::append;
use kit::failure::{bad_parameter, failure, io_failure};
use kit::stop;
use wire::{Failure, FailureKind};

use super::commands::{self, Command, Settings};
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
                .map_err(|error| failure(FailureKind::BadJob, error.to_string()))
                .and_then(|line| self.command(&line));
            match (obeyed, source) {
                (Ok(ControlFlow::Break(())), _) => return Ok(ControlFlow::Break(())),
                (Ok(ControlFlow::Continue(())), _) => {}
                (Err(failure), Source::Terminal) => self.bench.remark(&failure.message),
                (Err(failure), Source::Script(name)) => return Err(placed(failure, name, at + 1)),
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

    fn command(&mut self, line: &str) -> Result<ControlFlow<()>, Failure> {
        let Some((entry, operand)) = commands::read(line)? else {
            return Ok(ControlFlow::Continue(()));
        };
        if self.settings.set(entry.command, entry.names[0], operand)? {
            return Ok(ControlFlow::Continue(()));
        }
        match entry.command {
            Command::Quit => return Ok(ControlFlow::Break(())),
            Command::Help => self.bench.print(&commands::help(operand)),
            Command::Show => self.put(file(operand).as_deref(), &self.settings.show())?,
            Command::Run => self.run(file(operand).as_deref())?,
            // As in the original, a `quit` ends only the file in which it stands.
            Command::Load => drop(self.load(Path::new(operand))?),
            _ => unreachable!("every other command sets something"),
        }
        Ok(ControlFlow::Continue(()))
    }

    fn run(&mut self, into: Option<&Path>) -> Result<(), Failure> {
        let directory = self.settings.directory.clone();
        if self.bench.force() {
            make_room(&directory, self.settings.subdirectories())?;
        }
        let mut report = Report::default();
        let job = job("postmark", self.settings.parameters(), &directory);
        self.bench.execute(&job, &mut report)?;
        self.put(into, &report.text(self.settings.is_terse))
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

fn file(operand: &str) -> Option<PathBuf> {
    (!operand.is_empty()).then(|| operand.into())
}

fn placed(failure: Failure, name: &str, line: usize) -> Failure {
    let message = format!("{name}:{line}: {}", failure.message);
    Failure { message, ..failure }
}

/// Removes the files whose names a run may want: numbers, in the directory itself or in `s`
/// and a number.
fn make_room(directory: &Path, subdirectories: u64) -> Result<(), Failure> {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let failed = |error| io_failure("list directory", directory, &error);
    for entry in directory.read_dir().map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if subdirectories < 2 && is_number(&name) {
            overwrite::remove(&path)?;
        } else if subdirectories >= 2 && name.strip_prefix('s').is_some_and(is_number) {
            make_room(&path, 0)?;
            std::fs::remove_dir(&path)
                .map_err(|error| io_failure("remove directory", &path, &error))?;
        }
    }
    Ok(())
}
