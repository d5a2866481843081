//! `compilebench`: its options and its summary.
//!
//! Differences from the original: where its four files `dataset-*` are not there, trees are made
//! up; the lines for each tree on standard error are left out; trees are removed at the end;
//! deletions are booked by what the tree was.

mod request;
mod summary;

use std::ffi::OsString;
use std::fs;
use std::path::Path;

use kit::failure::io_failure;
use wire::Failure;

use self::request::{Request, PARAMETERS};
use self::summary::Summary;
use crate::bench::{job, Bench};
use crate::blame::blame;
use crate::options::{self, Choice};
use crate::{help, overwrite, Tool};

const TRACE: &str = "block traces are not taken; start blktrace beside it";

const CHOICES: &[Choice] = &[
    Choice::value("-b", "BYTES", "bytes per read and write (262144)"),
    Choice::value("--buffer-size", "BYTES", "as -b"),
    Choice::value("-i", "N", "source trees that are created at first (30)"),
    Choice::value("--initial-dirs", "N", "as -i"),
    Choice::value("-r", "N", "operations on trees chosen at random (100)"),
    Choice::value("--runs", "N", "as -r"),
    Choice::value("-D", "DIR", "make the trees in DIR (/mnt/default)"),
    Choice::value("--directory", "DIR", "as -D"),
    Choice::value("-s", "DIR", "take the files dataset-* from DIR (.)"),
    Choice::value("--sources", "DIR", "as -s"),
    Choice::flag(
        "-m",
        "compile all trees, read three, delete all; as make -j would",
    ),
    Choice::flag("--makej", "as -m"),
    Choice::flag("-n", "sync nothing, and drop no caches"),
    Choice::flag("--no-sync", "as -n"),
    Choice::flag("-h", "print this list"),
    Choice::value(
        "--files",
        "N",
        "files of a source tree that is made up (21280)",
    ),
    Choice::left_out("-t", TRACE),
    Choice::left_out("--trace", TRACE),
    Choice::left_out("-d", TRACE),
    Choice::left_out("--device", TRACE),
];

/// The tool.
pub struct Compilebench;

impl Tool for Compilebench {
    fn names(&self) -> &'static [&'static str] {
        &["compilebench"]
    }

    fn about(&self) -> &'static str {
        "source trees are created, patched, compiled, read and deleted"
    }

    fn choices(&self) -> &'static [Choice] {
        CHOICES
    }

    fn run(&self, arguments: Vec<OsString>, bench: &mut Bench) -> Result<(), Failure> {
        let line = options::read(CHOICES, arguments)?;
        if line.has("-h") {
            bench.print(&help::of(self));
            return Ok(());
        }
        let request = Request::of(&line)?;
        if bench.force() {
            request
                .trees()
                .try_for_each(|path| overwrite::remove(&path))?;
        }
        let is_ours = make(&request.directory)?;
        let job = job("compilebench", request.parameters(), &request.directory);
        let done = bench.execute(&job, &mut Summary::default());
        if is_ours {
            // Whoever put something into it meanwhile keeps it.
            let _ = fs::remove_dir(&request.directory);
        }
        done.map_err(|failure| blame(failure, PARAMETERS))
    }
}

/// Makes the directory if it is not there; tells whether it was made.
fn make(directory: &Path) -> Result<bool, Failure> {
    if directory.exists() {
        return Ok(false);
    }
    fs::create_dir(directory)
        .map(|()| true)
        .map_err(|error| io_failure("make directory", directory, &error))
}
