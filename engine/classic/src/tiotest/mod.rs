//! `tiotest`: its options and its two tables, of three versions.
//!
//! Differences from the original: files have other names, and one in the way is refused; files
//! that no write phase makes are laid out before they are read, where 0.3.3 stops and the later
//! versions read holes;
//! random blocks are the same each time; CPU time is that of the whole process in each version,
//! and where 0.3.3 counts it once for each thread, so does its table. Where the version of 2017
//! credits bytes that were not moved, its table does too, and people are told.

mod request;
mod table;

use std::ffi::OsString;

use wire::Failure;

use self::request::{Request, PARAMETERS};
use self::table::Table;
use crate::bench::{job, Bench};
use crate::blame::blame;
use crate::options::{self, Choice};
use crate::{help, overwrite, Tool};

const CHOICES: &[Choice] = &[
    Choice::value("-f", "N", "MiB of the file of each thread (10)"),
    Choice::value("-b", "BYTES", "size of a block (4096)"),
    Choice::value(
        "-d",
        "DIR",
        "make the files in DIR (.); only one can be given",
    ),
    Choice::value("-t", "N", "threads (4)"),
    Choice::value(
        "-r",
        "N",
        "operations of each thread in each random phase (100000; 1000 before 2023)",
    ),
    Choice::value(
        "-k",
        "0..3",
        "leave out the write, random write, read or random read phase; give it once for each",
    ),
    Choice::flag("-L", "print no table of latencies"),
    Choice::flag("-T", "print terse lines instead of tables"),
    Choice::flag(
        "-W",
        "in the write phase, let threads work one after another",
    ),
    Choice::flag("-S", "open files with O_SYNC"),
    Choice::flag("-X", "open files with O_DIRECT"),
    Choice::flag("-c", "write random bytes, and compare what is read"),
    Choice::value(
        "--version",
        "VERSION",
        "be the tiotest of 0.3.3, 20170504 (Phoronix profile 1.3) or 20241028 (20241028)",
    ),
    Choice::flag("-h", "print this list"),
    Choice::left_out(
        "-R",
        "raw devices are not written to; make a file system on them",
    ),
    Choice::left_out(
        "-o",
        "it places threads on raw devices, which are not written to",
    ),
    Choice::left_out(
        "-O",
        "it places threads on raw devices, which are not written to",
    ),
    Choice::left_out(
        "-M",
        "blocks are moved by system calls only; iozone -B maps files",
    ),
    Choice::left_out(
        "-F",
        "emptying all caches inside the timed region measures that; use the workload tiobench \
         with access out-of-cache",
    ),
    Choice::left_out(
        "-D",
        "there are no messages for debugging; --json tells everything",
    ),
];

/// The tool.
pub struct Tiotest;

impl Tool for Tiotest {
    fn names(&self) -> &'static [&'static str] {
        &["tiotest"]
    }

    fn about(&self) -> &'static str {
        "threads that write and read a large file each, in order and at random"
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
                .files()
                .try_for_each(|path| overwrite::remove(&path))?;
        }
        let job = job("tiobench", request.parameters(), &request.directory);
        let mut table = Table::new(&request);
        bench
            .execute(&job, &mut table)
            .map_err(|failure| blame(failure, PARAMETERS))?;
        for remark in table.remarks() {
            bench.remark(&remark);
        }
        Ok(())
    }
}
