//! `postmark [FILE]`: PostMark's commands, from a file and then from standard input.
//!
//! Differences from the original: a file that is named and not there, a command that is not
//! understood and a value that is more than a number end a script with an error that names the line
//! (at a terminal they are printed, and the next command is read). Empty lines and lines that begin
//! with `#` are passed over. The last character of a line is not dropped.

mod commands;
mod report;
mod session;

use std::ffi::OsString;
use std::io::{self, IsTerminal};
use std::path::Path;

use kit::failure::bad_parameter;
use wire::Failure;

use self::session::{Session, Source};
use crate::bench::Bench;
use crate::options::{self, Choice};
use crate::Tool;

/// Read before standard input when no file is named.
const USUAL_FILE: &str = ".pmrc";

/// The first line, by which programs know whose report follows. 1.53 calls itself so, too.
const BANNER: &str = "PostMark v1.51 : 8/14/01 (by Tiltyard)\n";

/// The tool.
pub struct Postmark;

impl Tool for Postmark {
    fn names(&self) -> &'static [&'static str] {
        &["postmark"]
    }

    fn about(&self) -> &'static str {
        "transactions on short-lived small files, by commands from a file or typed in; \
         the command \"help\" lists them"
    }

    fn operands(&self) -> &'static str {
        "[FILE]"
    }

    fn choices(&self) -> &'static [Choice] {
        &[]
    }

    fn run(&self, arguments: Vec<OsString>, bench: &mut Bench) -> Result<(), Failure> {
        let line = options::read(self.choices(), arguments)?;
        let file = match line.operands.as_slice() {
            [] => Path::new(USUAL_FILE).is_file().then(|| USUAL_FILE.into()),
            [file] => Some(file.clone()),
            [_, second, ..] => {
                let second = second.to_string_lossy();
                let message = format!("one file of commands is read; \"{second}\" is a second one");
                return Err(bad_parameter("FILE", message));
            }
        };
        bench.print(BANNER);
        let mut session = Session::new(bench);
        if let Some(file) = file {
            if session.load(Path::new(&file))?.is_break() {
                return Ok(());
            }
        }
        let stdin = io::stdin();
        let source = match stdin.is_terminal() {
            true => Source::Terminal,
            false => Source::Script("standard input".to_owned()),
        };
        session.obey(stdin.lock(), &source).map(|_quit| ())
    }
}
