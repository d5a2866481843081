//! `fdtree`: its options and its report.
//!
//! Differences from the original: what is no number is refused; -R removes the tree that --root
//! names, where the original looks for one that bears its own process number and finds none; the
//! programs are not started by a shell; everything behind the first lines is printed at the end.

mod report;
mod request;

use std::ffi::OsString;

use wire::Failure;

use self::report::Report;
use self::request::{Request, PARAMETERS};
use crate::bench::{job, Bench};
use crate::blame::blame;
use crate::options::{self, Choice};
use crate::{overwrite, Tool};

const CHOICES: &[Choice] = &[
    Choice::value("-l", "N", "levels of directories below the root (4)"),
    Choice::value(
        "-d",
        "N",
        "directories in each directory that is not at the bottom (10)",
    ),
    Choice::value("-f", "N", "files in each directory (10)"),
    Choice::value("-s", "N", "size of a file in blocks of 4096 bytes (10)"),
    Choice::value("-o", "DIR", "make the tree in DIR (.)"),
    Choice::flag("-C", "make the tree, and leave it behind"),
    Choice::flag("-R", "remove the tree that --root names"),
    Choice::value(
        "--root",
        "NAME",
        "name of the tree (LEVEL0, host and process number)",
    ),
    Choice::flag(
        "--in-process",
        "make system calls instead of starting programs; times are no whole seconds then",
    ),
    Choice::left_out(
        "-D",
        "there are no messages for debugging; --json tells everything",
    ),
];

/// The tool.
pub struct Fdtree;

impl Tool for Fdtree {
    fn names(&self) -> &'static [&'static str] {
        &["fdtree", "fdtree.bash"]
    }

    fn about(&self) -> &'static str {
        "a tree of directories and files is made and taken down"
    }

    fn choices(&self) -> &'static [Choice] {
        CHOICES
    }

    fn run(&self, arguments: Vec<OsString>, bench: &mut Bench) -> Result<(), Failure> {
        let request = Request::of(&options::read(CHOICES, arguments)?)?;
        if bench.force() && request.creates() {
            overwrite::remove(&request.root())?;
        }
        let job = job("fdtree", request.parameters(), &request.directory);
        bench
            .execute(&job, &mut Report::new(&request))
            .map_err(|failure| blame(failure, PARAMETERS))
    }
}
