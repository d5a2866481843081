//! A comparator of the study's: a command that says whether two outputs are the same.
//!
//! It is executed once for each output that differs from what is expected, right after the
//! execution that printed it, and finds both as files. Exit code 0 means that they are the same.

use std::fs;
use std::path::PathBuf;

use kit::failure::io_failure;
use wire::{Execution, Failure, Output, Step};

use crate::output::contents;
use crate::params::{Any, Exit};
use crate::reap::Ended;
use crate::reason;
use crate::run::Course;
use crate::words::{self, Values};

/// The parameter.
pub const COMPARE: &str = "expect.compare";
/// Placeholders that only it knows: paths of the two outputs.
pub const NAMES: [&str; 2] = ["expected", "output"];
/// Where they are, in the trial's directory, as long as they are compared.
const DIRECTORY: &str = "tiltyard-compare";
const LINES_QUOTED: usize = 3;

/// The values of `values`, with paths of the outputs in `directory`.
pub fn with_outputs(mut values: Values, directory: &str) -> Values {
    values.extend(NAMES.map(|name| (name.to_owned(), format!("{directory}/{name}"))));
    values
}

/// Both outputs as files; removed when dropped.
struct Outputs(PathBuf);

impl Outputs {
    fn write(directory: PathBuf, outputs: [&[u8]; 2]) -> Result<Self, Failure> {
        let failed = |error: &_| io_failure("write", &directory, error);
        fs::create_dir(&directory).map_err(|error| failed(&error))?;
        let written = Self(directory.clone());
        for (name, bytes) in NAMES.iter().zip(outputs) {
            fs::write(directory.join(name), bytes).map_err(|error| failed(&error))?;
        }
        Ok(written)
    }
}

impl Drop for Outputs {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

impl Course<'_, '_> {
    /// Has an output compared with what is expected, unless it is known to be the same.
    pub fn compare_by_command(
        &mut self,
        what: &str,
        done: &Execution,
        printed: Output,
    ) -> Result<(), Failure> {
        let Some(expected) = &self.expected else {
            whole(what, &printed)?;
            self.expected = Some(printed);
            return Ok(());
        };
        if expected.sha256 == printed.sha256 || self.same.contains(&printed.sha256) {
            return Ok(());
        }
        let both = [
            whole("the expected output", expected)?,
            whole(what, &printed)?,
        ];
        let hashes = format!("{} and {}", &expected.sha256[..12], &printed.sha256[..12]);
        let directory = self.scene.room.path.join(DIRECTORY);
        let values = with_outputs(
            self.scene.values(done.number),
            &directory.display().to_string(),
        );
        let words = &self.planned.params.expect.compare;
        let words = words.iter().map(|word| words::fill(COMPARE, word, &values));
        let words: Vec<String> = words.collect::<Result<_, _>>()?;
        let _files = Outputs::write(directory, [&both[0], &both[1]])?;
        let by = reason::shown(&words);
        let compared = self.execute(Step::Compare, &by, &words, done.number)?;
        let said = [0, 1].map(|which| last_lines(&compared.outputs[which]));
        let said = said.into_iter().filter(|said| !said.is_empty());
        let said: String = said.map(|said| format!("; it said: {said}")).collect();
        let differs = matches!(compared.ended, Ended::Exit(code) if code != 0);
        let (timeout_s, flood_bytes) = (self.planned.params.timeout, self.planned.params.flood);
        let any = Exit::Any(Any::Any);
        let broken = reason::wrong(
            &by,
            &compared,
            Some(&any),
            timeout_s,
            flood_bytes.bytes(),
            0,
        );
        let told = self.tell(Step::Compare, done.number, compared, Vec::new());
        if let Some(failure) = broken {
            return Err(failure);
        }
        if differs {
            let code = told.exit.unwrap_or_default();
            return Err(reason::broken(format!(
                "{what}: printed something else than expected ({hashes} in the record), says \
                 {by}: exit code {code}{said}"
            )));
        }
        self.same.insert(printed.sha256);
        Ok(())
    }
}

/// What an output holds, of which nothing may be missing.
fn whole(what: &str, output: &Output) -> Result<Vec<u8>, Failure> {
    contents(output).ok_or_else(|| {
        reason::broken(format!(
            "{what}: its output of {} bytes is compared, and only the beginning was kept. Fix: \
             keep = \"4M\", or let it print less",
            output.bytes
        ))
    })
}

fn last_lines(output: &Output) -> String {
    let text = output.text.as_deref().unwrap_or_default();
    let lines: Vec<&str> = text
        .lines()
        .filter(|line| !line.trim().is_empty())
        .collect();
    let last = &lines[lines.len().saturating_sub(LINES_QUOTED)..];
    let printable = |letter: char| if letter.is_control() { ' ' } else { letter };
    last.join(" | ").chars().map(printable).collect()
}
