//! A command in the form in which the kernel takes it.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ffi::CString;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use kit::failure::io_failure;
use kit::reach::{self, Kind};
use kit::splitmix::SplitMix;
use rustix::fs::OFlags;
use wire::{Failure, Output};

use crate::account::acting;
use crate::execute::Added;
use crate::output;
use crate::plan::Planned;
use crate::spawn::{c_text, NotStarted, Recipe, Strings};
use crate::trial_dir::{TrialDir, FILE_MODE};
use crate::words::{self, Values};
use crate::{plan, reason};

/// Sizes of the padding: so many, so many bytes apart, as stacks are aligned.
const PADDINGS: u32 = 256;
const PADDING_STEP_BYTES: u32 = 16;
const PADDING: &str = "TILTYARD_PADDING";
/// Lengths of the path that execve is given: so many, a byte apart. A power of 3.
const PATHS: u32 = 81;
/// What is read of a program, to see what it is.
const BEGINNING_BYTES: u64 = 256;

/// Where commands are executed.
pub struct ExecContext<'a> {
    pub planned: &'a Planned,
    pub trial_dir: &'a TrialDir,
    /// The working directory.
    pub place: PathBuf,
    /// Programs that were found in PATH, which may have many directories.
    found: RefCell<BTreeMap<String, Program>>,
    /// /dev/null, where there is no other standard input.
    nothing: Rc<File>,
}

/// Where a program is, and whether the kernel executes it itself.
type Program = (PathBuf, bool);

/// All that a recipe refers to.
pub struct Prepared<'a> {
    program: PathBuf,
    path: CString,
    arguments: Strings,
    environment: Strings,
    directory: CString,
    home: (CString, BorrowedFd<'a>),
    stdin: Rc<File>,
    stdout: Option<File>,
    /// What was added to its environment and its path.
    pub layout: Added,
}

impl<'a> ExecContext<'a> {
    /// # Errors
    /// `BadJob` for a placeholder that nothing stands for.
    pub fn new(planned: &'a Planned, trial_dir: &'a TrialDir) -> Result<Self, Failure> {
        let values = planned.values(&trial_dir.path, 1);
        let place = match &planned.params.place {
            Some(place) => words::fill("where", place, &values)?.into(),
            None => trial_dir.path.clone(),
        };
        let nothing = Path::new("/dev/null");
        let opened = File::open(nothing).map_err(|error| io_failure("open", nothing, &error))?;
        Ok(Self {
            planned,
            trial_dir,
            place,
            found: RefCell::default(),
            nothing: Rc::new(opened),
        })
    }

    /// What stands for placeholders.
    pub fn values(&self, execution: u32) -> Values {
        self.planned.values(&self.trial_dir.path, execution)
    }

    /// A command without placeholders.
    ///
    /// # Errors
    /// `BadJob` for a placeholder that nothing stands for.
    pub fn filled(&self, words: &[String], execution: u32) -> Result<Vec<String>, Failure> {
        let values = self.values(execution);
        let filled = words
            .iter()
            .map(|word| words::fill("command", word, &values));
        filled.collect()
    }

    /// The environment of all commands.
    ///
    /// # Errors
    /// `BadJob` for a placeholder that nothing stands for.
    pub fn environment(&self, execution: u32) -> Result<BTreeMap<String, String>, Failure> {
        let values = self.values(execution);
        let mut environment = self.planned.environment.clone();
        let directory = self.trial_dir.path.display().to_string();
        environment.insert("TMPDIR".to_owned(), directory);
        for (name, value) in &self.planned.params.env {
            environment.insert(name.clone(), words::fill("env", value, &values)?);
        }
        Ok(environment)
    }

    /// The file of standard output, where there is one.
    ///
    /// # Errors
    /// `BadJob` for a placeholder that nothing stands for.
    pub fn stdout(&self, execution: u32) -> Result<Option<PathBuf>, Failure> {
        let path = self.planned.params.stdout.as_ref();
        let path = path.map(|path| words::fill("stdout", path, &self.values(execution)));
        Ok(path.transpose()?.map(PathBuf::from))
    }

    /// Opens a file of the programs with the rights of their user, below the trial's directory
    /// without a link that he could have made.
    fn open(&self, path: &Path, flags: OFlags, kind: Kind) -> io::Result<File> {
        let (base, path) = self.trial_dir.way(path);
        acting(self.planned.account.as_ref(), || {
            reach::file(base, path, flags, FILE_MODE, kind)
        })
    }

    /// Reads what a program wrote; `None` of /dev/null, where that may be. It has the time that a
    /// command has.
    ///
    /// # Errors
    /// It is no regular file, too large, or cannot be read, or not in time.
    pub fn read(&self, path: &Path, kind: Kind) -> io::Result<Option<Output>> {
        let file = self.open(path, OFlags::RDONLY, kind)?;
        if !file.metadata()?.is_file() {
            return Ok(None);
        }
        let params = &self.planned.params;
        output::of_file(
            &file,
            params.keep.bytes(),
            params.flood.bytes(),
            params.timeout,
        )
        .map(Some)
    }

    /// Whether there is something, as far as the user of the programs can see.
    pub fn sees(&self, path: &Path) -> bool {
        acting(self.planned.account.as_ref(), || Ok(path.exists())).unwrap_or(false)
    }

    /// How a program begins; nothing of one that may not be read.
    fn beginning(&self, program: &Path) -> Vec<u8> {
        let mut bytes = Vec::new();
        let file = self.open(program, OFlags::RDONLY, Kind::Regular);
        let _ = file.and_then(|file| file.take(BEGINNING_BYTES).read_to_end(&mut bytes));
        bytes
    }

    /// Where a program is.
    fn find(&self, program: &str) -> Option<Program> {
        if let Some(known) = self.found.borrow().get(program) {
            return Some(known.clone());
        }
        let path = plan::find(program, &self.place, self.planned.path())?;
        let is_binary = reason::is_binary(&self.beginning(&path));
        let found = (path, is_binary);
        if !program.contains('/') {
            let mut known = self.found.borrow_mut();
            known.insert(program.to_owned(), found.clone());
        }
        Some(found)
    }

    /// Makes a command ready. Its words have no placeholders any more.
    ///
    /// # Errors
    /// The program, or the file of standard input, is not there.
    pub fn prepare(
        &self,
        what: &str,
        words: &[String],
        execution: u32,
        mut layout: Added,
    ) -> Result<Prepared<'a>, Failure> {
        let program = self.find(&words[0]);
        let missing = || reason::missing(what, &words[0], self.planned.path());
        let (program, is_binary) = program.ok_or_else(missing)?;
        let mut environment = self.environment(execution)?;
        if layout.environment > 0 {
            let padding = "x".repeat(layout.environment as usize);
            environment.insert(PADDING.to_owned(), padding);
        }
        let stdin = match &self.planned.params.stdin {
            Some(path) => {
                let path = words::fill("stdin", path, &self.values(execution))?;
                let path = Path::new(&path);
                let opened = self.open(path, OFlags::RDONLY, Kind::OrNothing);
                Rc::new(opened.map_err(|error| io_failure("read", path, &error))?)
            }
            None => Rc::clone(&self.nothing),
        };
        let variables = environment.into_iter();
        let bytes = |path: &Path| c_text(path.as_os_str().as_bytes());
        let path = lengthened(&program, layout.path).filter(|_| is_binary);
        if path.is_none() {
            layout.path = 0;
        }
        Ok(Prepared {
            path: c_text(path.as_deref().unwrap_or(program.as_os_str().as_bytes())),
            arguments: Strings::of(words.iter().cloned()),
            environment: Strings::of(variables.map(|(name, value)| format!("{name}={value}"))),
            directory: bytes(self.trial_dir.way(&self.place).1),
            home: (
                bytes(&self.trial_dir.path),
                self.trial_dir.way(&self.trial_dir.path).0,
            ),
            program,
            stdin,
            layout,
            stdout: None,
        })
    }
}

/// The same path with so many more slashes before its last part; `None` where it would be too long.
fn lengthened(program: &Path, slashes: u32) -> Option<Vec<u8>> {
    let (directory, name) = (program.parent()?, program.file_name()?);
    let slashes = vec![b'/'; slashes as usize + 1];
    let path = [directory.as_os_str().as_bytes(), &slashes, name.as_bytes()].concat();
    (path.len() < libc::PATH_MAX as usize).then_some(path)
}

impl Prepared<'_> {
    /// Has it print to a file, which is made, or emptied.
    ///
    /// # Errors
    /// Those of open(2); it is no regular file.
    pub fn print_to(&mut self, path: &Path, context: &ExecContext) -> Result<(), Failure> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC;
        let opened = context.open(path, flags, Kind::OrNothing);
        self.stdout = Some(opened.map_err(|error| io_failure("write to", path, &error))?);
        Ok(())
    }

    pub fn recipe<'a>(&'a self, planned: &'a Planned) -> Recipe<'a> {
        Recipe {
            path: &self.path,
            arguments: &self.arguments,
            environment: &self.environment,
            directory: &self.directory,
            home: (&self.home.0, self.home.1),
            network: None,
            stdin: self.stdin.as_fd(),
            stdout: self.stdout.as_ref().map(AsFd::as_fd),
            cpus: &planned.cpus,
            numa: planned.params.numa,
            account: planned.account.as_ref().map(|account| &account.ids),
        }
    }

    pub fn not_started(&self, what: &str, context: &ExecContext, why: &NotStarted) -> Failure {
        let place = context.place.display().to_string();
        let beginning = context.beginning(&self.program);
        reason::not_started(what, &self.program, &beginning, &place, why)
    }
}

/// Bytes that are added to environment and path, others each time: in the order of Halton (van der
/// Corput's in two dimensions), so that few executions cover the range of both, from a start that
/// differs between trials.
pub struct Padding {
    start: [u32; 2],
    turn: u32,
}

impl Padding {
    /// A sequence that begins anywhere.
    pub fn new(seed: u64) -> Self {
        let mut drawn = SplitMix::new(seed);
        Self {
            start: [PADDINGS, PATHS].map(|count| drawn.draw() as u32 % count),
            turn: 0,
        }
    }

    /// The next ones. Never 0 of the environment, up to 80 of the path.
    pub fn draw(&mut self) -> Added {
        let steps = (self.start[0] + u32::from((self.turn as u8).reverse_bits())) % PADDINGS;
        let path = (self.start[1] + reversed_in_threes(self.turn % PATHS)) % PATHS;
        self.turn = self.turn.wrapping_add(1);
        Added {
            environment: (steps + 1) * PADDING_STEP_BYTES,
            path,
        }
    }
}

/// The four digits of a number below 81, written in base 3, in the opposite order.
fn reversed_in_threes(number: u32) -> u32 {
    let digit = |place: u32| number / 3_u32.pow(place) % 3;
    (0..4)
        .map(|place| digit(place) * 3_u32.pow(3 - place))
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_paddings_cover_the_range_and_all_of_them_come() {
        let mut padding = Padding::new(7);
        let drawn: Vec<Added> = (0..256).map(|_| padding.draw()).collect();
        let sorted = |values: &mut dyn Iterator<Item = u32>| {
            let mut values: Vec<u32> = values.collect();
            values.sort_unstable();
            values
        };
        let four = sorted(&mut drawn[..4].iter().map(|one| one.environment));
        assert!(four.windows(2).all(|pair| pair[1] - pair[0] == 1_024));
        let all = sorted(&mut drawn.iter().map(|one| one.environment));
        let expected: Vec<u32> = (1..=256).map(|steps| steps * 16).collect();
        assert_eq!(all, expected);
        assert_eq!(padding.draw().environment, drawn[0].environment);
        let nine = sorted(&mut drawn[..9].iter().map(|one| one.path));
        assert!(
            nine.windows(2).all(|pair| pair[1] - pair[0] == 9),
            "{nine:?}"
        );
        let all = sorted(&mut drawn[..81].iter().map(|one| one.path));
        assert_eq!(all, (0..81).collect::<Vec<u32>>());
    }

    #[test]
    fn a_path_is_lengthened_up_to_what_the_kernel_takes() {
        let shell = Path::new("/bin/sh");
        assert_eq!(lengthened(shell, 3).unwrap(), b"/bin////sh");
        assert_eq!(lengthened(shell, 0).unwrap(), b"/bin/sh");
        assert_eq!(lengthened(shell, 5_000), None);
    }

    #[test]
    fn a_script_is_no_binary() {
        assert!(reason::is_binary(&std::fs::read("/bin/sh").unwrap()));
        assert!(!reason::is_binary(b"#!/bin/sh\n"));
    }
}
