//! `fs_mark`: its options and its table.
//!
//! Differences from the original: the lines before the table are ours, with the original's
//! labels; what is no number is refused; a directory given twice is refused; directories that
//! were not there before are removed with the files, unless these are kept; sizes may have a
//! suffix, and most limits are gone.

mod request;
mod table;

use std::ffi::OsString;
use std::io::Write;
use std::path::Path;

use kit::append::append;
use kit::failure::io_failure;
use wire::Failure;

use self::request::{Request, PARAMETERS};
use self::table::Table;
use crate::bench::{job, Bench};
use crate::blame::blame;
use crate::options::{self, Choice};
use crate::{help, Tool};

const CHOICES: &[Choice] = &[
    Choice::value(
        "-d",
        "DIR",
        "make files in DIR; give it once for each directory",
    ),
    Choice::value("-n", "N", "files of each thread in each pass (1000)"),
    Choice::value("-s", "BYTES", "size of a file (51200)"),
    Choice::value("-w", "BYTES", "bytes per write (16384)"),
    Choice::value("-t", "N", "threads; they take the directories in turn (1)"),
    Choice::value(
        "-S",
        "0..6",
        "sync nothing, each file, or in one of five ways after all (1)",
    ),
    Choice::value("-D", "N", "subdirectories of each directory"),
    Choice::value(
        "-N",
        "N",
        "files in a subdirectory before the next one's turn",
    ),
    Choice::value("-p", "N", "characters of a file name (40)"),
    Choice::value("-r", "N", "random ones among them, at the end (24)"),
    Choice::flag("-k", "keep the files"),
    Choice::value(
        "-L",
        "N",
        "passes, each with a row of its own; files are kept",
    ),
    Choice::flag("-F", "passes until the file system is full; files are kept"),
    Choice::value("-l", "FILE", "add the table to FILE too (fs_log.txt)"),
    Choice::flag("-v", "show the times of system calls"),
    Choice::flag("-h", "print this list"),
];

/// The tool.
pub struct FsMark;

impl Tool for FsMark {
    fn names(&self) -> &'static [&'static str] {
        &["fs_mark"]
    }

    fn about(&self) -> &'static str {
        "how fast files are created, with all that makes them durable"
    }

    fn choices(&self) -> &'static [Choice] {
        CHOICES
    }

    fn run(&self, arguments: Vec<OsString>, bench: &mut Bench) -> Result<(), Failure> {
        let line = options::read(CHOICES, arguments.clone())?;
        if line.has("-h") {
            bench.print(&help::of(self));
            return Ok(());
        }
        let request = Request::of(&line)?;
        let job = job("fs_mark", request.parameters(), &request.places.directory);
        let mut table = Table::new(&request, &arguments);
        let done = bench.execute(&job, &mut table);
        add(table.text(), &request.log)?;
        done.map_err(|failure| blame(failure, PARAMETERS))
    }
}

/// Adds `text` to the log, if there is any.
fn add(text: &str, log: &Path) -> Result<(), Failure> {
    if text.is_empty() {
        return Ok(());
    }
    append(log, |log| log.write_all(text.as_bytes()))
        .map_err(|error| io_failure("write", log, &error))
}
