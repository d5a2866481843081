//! A command in the form in which the kernel takes it.

use std::collections::BTreeMap;
use std::ffi::CString;
use std::fs::File;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use kit::failure::io_failure;
use kit::splitmix::SplitMix;
use rustix::fs::{Mode, OFlags};
use wire::Failure;

use crate::plan::Planned;
use crate::room::Room;
use crate::spawn::{c_text, NotStarted, Recipe, Strings};
use crate::words::{self, Values};
use crate::{plan, reason};

/// Sizes of the padding: so many, so many bytes apart, as stacks are aligned.
const PADDINGS: u32 = 256;
const PADDING_STEP_BYTES: u32 = 16;
const PADDING: &str = "TILTYARD_PADDING";
/// Of the file of standard output.
const MODE: Mode = Mode::from_raw_mode(0o644);

/// Where commands are executed.
pub struct Scene<'a> {
    pub planned: &'a Planned,
    pub room: &'a Room,
    /// The working directory.
    pub place: PathBuf,
}

/// All that a recipe refers to.
pub struct Prepared {
    program: PathBuf,
    path: CString,
    arguments: Strings,
    environment: Strings,
    directory: CString,
    stdin: File,
    stdout: Option<File>,
}

impl<'a> Scene<'a> {
    /// # Errors
    /// `BadJob` for a placeholder that nothing stands for.
    pub fn new(planned: &'a Planned, room: &'a Room) -> Result<Self, Failure> {
        let values = planned.values(&room.path, 1);
        let place = match &planned.params.place {
            Some(place) => words::fill("where", place, &values)?.into(),
            None => room.path.clone(),
        };
        Ok(Self {
            planned,
            room,
            place,
        })
    }

    /// What stands for placeholders.
    pub fn values(&self, execution: u32) -> Values {
        self.planned.values(&self.room.path, execution)
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
        let directory = self.room.path.display().to_string();
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

    /// Makes a command ready. Its words have no placeholders any more.
    ///
    /// # Errors
    /// The program, or the file of standard input, is not there.
    pub fn prepare(
        &self,
        what: &str,
        words: &[String],
        execution: u32,
        padding_bytes: u32,
    ) -> Result<Prepared, Failure> {
        let path = self.planned.path();
        let program = plan::find(&words[0], &self.place, path);
        let program = program.ok_or_else(|| reason::missing(what, &words[0], path))?;
        let mut environment = self.environment(execution)?;
        if padding_bytes > 0 {
            let padding = "x".repeat(padding_bytes as usize);
            environment.insert(PADDING.to_owned(), padding);
        }
        let stdin = match &self.planned.params.stdin {
            Some(path) => words::fill("stdin", path, &self.values(execution))?,
            None => "/dev/null".to_owned(),
        };
        let opened = File::open(&stdin);
        let stdin = opened.map_err(|error| io_failure("open", Path::new(&stdin), &error))?;
        let variables = environment.into_iter();
        let bytes = |path: &Path| c_text(path.as_os_str().as_bytes());
        Ok(Prepared {
            path: bytes(&program),
            arguments: Strings::of(words.iter().cloned()),
            environment: Strings::of(variables.map(|(name, value)| format!("{name}={value}"))),
            directory: bytes(&self.place),
            program,
            stdin,
            stdout: None,
        })
    }
}

impl Prepared {
    /// Has it print to a file, which is made, or emptied.
    ///
    /// # Errors
    /// Those of open(2).
    pub fn print_to(&mut self, path: &Path) -> Result<(), Failure> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC | OFlags::CLOEXEC;
        let opened = rustix::fs::open(path, flags | OFlags::NOFOLLOW, MODE);
        let file = opened.map_err(|error| io_failure("write to", path, &error.into()))?;
        self.stdout = Some(File::from(file));
        Ok(())
    }

    pub fn recipe<'a>(&'a self, planned: &'a Planned) -> Recipe<'a> {
        Recipe {
            path: &self.path,
            arguments: &self.arguments,
            environment: &self.environment,
            directory: &self.directory,
            stdin: self.stdin.as_fd(),
            stdout: self.stdout.as_ref().map(AsFd::as_fd),
            cpus: &planned.cpus,
            numa: planned.params.numa,
            account: planned.account.as_ref().map(|account| &account.ids),
        }
    }

    pub fn not_started(&self, what: &str, scene: &Scene, why: &NotStarted) -> Failure {
        let place = scene.place.display().to_string();
        reason::not_started(what, &self.program, &place, why)
    }
}

/// Bytes that are added to the environment, another number each time: in the order of van der
/// Corput, so that few executions cover the range, from a start that differs between trials.
pub struct Padding {
    start: u32,
    turn: u8,
}

impl Padding {
    /// A sequence that begins anywhere.
    pub fn new(seed: u64) -> Self {
        Self {
            start: SplitMix::new(seed).draw() as u32 % PADDINGS,
            turn: 0,
        }
    }

    /// The next number; never 0.
    pub fn draw(&mut self) -> u32 {
        let steps = (self.start + u32::from(self.turn.reverse_bits())) % PADDINGS;
        self.turn = self.turn.wrapping_add(1);
        (steps + 1) * PADDING_STEP_BYTES
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_paddings_cover_the_range_and_all_of_them_come() {
        let mut padding = Padding::new(7);
        let first: Vec<u32> = (0..256).map(|_| padding.draw()).collect();
        let mut four: Vec<u32> = first[..4].to_vec();
        four.sort_unstable();
        assert!(four.windows(2).all(|pair| pair[1] - pair[0] == 1_024));
        let mut all = first.clone();
        all.sort_unstable();
        let expected: Vec<u32> = (1..=256).map(|steps| steps * 16).collect();
        assert_eq!(all, expected);
        assert_eq!(padding.draw(), first[0]);
    }
}
