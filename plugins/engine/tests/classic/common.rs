//! A directory with the real binary in it under a tool's name, and transcripts to compare.

use std::io::Write;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use tempfile::TempDir;

/// A fresh working directory, and beside it a link to the engine called as the tool.
pub struct Bench {
    home: TempDir,
    tool: &'static str,
}

impl Bench {
    /// A bench for `tool`, on the file system of the build: the temporary one may have no disk.
    pub fn new(tool: &'static str) -> Self {
        let home = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        symlink(
            env!("CARGO_BIN_EXE_tiltyard-engine"),
            home.path().join(tool),
        )
        .unwrap();
        std::fs::create_dir(home.path().join("work")).unwrap();
        Self { home, tool }
    }

    /// The working directory.
    pub fn work(&self) -> PathBuf {
        self.home.path().join("work")
    }

    /// Starts the tool with `line`; its standard streams are pipes.
    pub fn start(&self, line: &str) -> Child {
        Command::new(self.home.path().join(self.tool))
            .args(line.split_whitespace())
            .current_dir(self.work())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
    }

    /// Calls the tool with `line`, and `input` on its standard input.
    pub fn call(&self, line: &str, input: &str) -> Output {
        let mut child = self.start(line);
        // A tool that reads nothing may have ended already.
        let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
        child.wait_with_output().unwrap()
    }

    /// What the tool prints when all goes well.
    pub fn text(&self, line: &str, input: &str) -> String {
        let output = self.call(line, input);
        assert_eq!(output.status.code(), Some(0), "{line}: {output:?}");
        assert!(output.stderr.is_empty(), "{line}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// The one line that the tool complains with; it must exit with `code` and print no table.
    pub fn complaint(&self, line: &str, input: &str, code: i32) -> String {
        let output = self.call(line, input);
        let words = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(code), "{line}: {words}");
        assert_eq!(words.lines().count(), 1, "{words}");
        words
    }
}

/// Names in `directory`, sorted.
pub fn names_in(directory: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(directory).unwrap();
    let mut names: Vec<String> = entries
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

/// `text` with every number replaced by as many `#` as it has characters: what is left is the
/// shape of a table.
pub fn masked(text: &str) -> String {
    let letters: Vec<char> = text.chars().collect();
    let is_digit = |at: usize| letters.get(at).is_some_and(char::is_ascii_digit);
    let marks = letters.iter().enumerate().map(|(at, &letter)| {
        let is_point = letter == '.' && at > 0 && is_digit(at - 1) && is_digit(at + 1);
        if is_digit(at) || is_point {
            '#'
        } else {
            letter
        }
    });
    marks.collect()
}

#[test]
fn numbers_are_masked_and_nothing_else() {
    assert_eq!(masked("a 12.5 b. 3 [4] x.y"), "a #### b. # [#] x.y");
}

/// `text` with one `#` for every number and one blank between words: what a table says whatever
/// was measured, and however wide that is.
pub fn outline(text: &str) -> String {
    let mut letters: Vec<char> = masked(text).chars().collect();
    letters.dedup_by(|next, last| next == last && [' ', '#'].contains(last));
    letters.into_iter().collect()
}
