//! `aio-stress`: its options, and what it prints of each stage.
//!
//! Differences from the original: everything is printed to standard output; a file in the way is
//! refused; files that are read and were not written are laid out first; -C sets the offset and
//! nothing else; the rate of a single file is printed where there is only one, and that of a
//! single thread likewise: of several, the sum is known.

mod report;
mod request;

use std::ffi::OsString;

use wire::Failure;

use self::report::Report;
use self::request::{Request, PARAMETERS};
use crate::bench::{job, Bench};
use crate::blame::blame;
use crate::options::{self, Choice};
use crate::{help, overwrite, Tool};

const CHOICES: &[Choice] = &[
    Choice::value(
        "-s",
        "SIZE",
        "size of each file, in MiB or with a suffix (1024m)",
    ),
    Choice::value(
        "-r",
        "SIZE",
        "size of a record, in KiB or with a suffix (64k)",
    ),
    Choice::value("-a", "SIZE", "alignment, in KiB or with a suffix (4k)"),
    Choice::value("-d", "N", "requests in flight for each file (64)"),
    Choice::value(
        "-i",
        "N",
        "requests built for a file before the next one's turn (8)",
    ),
    Choice::value("-b", "N", "requests in one io_submit, at most"),
    Choice::value(
        "-c",
        "N",
        "places of each file that are worked on at once (1)",
    ),
    Choice::value(
        "-C",
        "SIZE",
        "distance of these places, in MiB or with a suffix (2m)",
    ),
    Choice::value("-t", "N", "threads (1)"),
    Choice::value(
        "-o",
        "0..3",
        "do write, read, random write or random read; give it once for each (all)",
    ),
    Choice::flag("-O", "open files with O_DIRECT"),
    Choice::flag("-S", "open files with O_SYNC"),
    Choice::flag("-n", "no fsync at the end of a stage"),
    Choice::flag("-l", "print how long calls of io_submit took"),
    Choice::flag("-L", "print how long completions took"),
    Choice::flag("-v", "write the letter b, and compare what is read"),
    Choice::flag("-x", "go on when the first thread is done"),
    Choice::flag("-u", "remove the files at the end"),
    Choice::flag("-h", "print this list"),
    Choice::left_out("-I", "a stage is always done in full; use smaller files"),
    Choice::left_out("-m", "buffers are always private memory; leave it away"),
];

/// The tool.
pub struct AioStress;

impl Tool for AioStress {
    fn names(&self) -> &'static [&'static str] {
        &["aio-stress", "aio-stress-bin"]
    }

    fn about(&self) -> &'static str {
        "many asynchronous requests in flight on one or more files"
    }

    fn operands(&self) -> &'static str {
        "FILE…"
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
                .places
                .paths()
                .try_for_each(|path| overwrite::remove(&path))?;
        }
        let job = job(
            "aio_stress",
            request.parameters(),
            &request.places.directory,
        );
        let mut report = Report::new(&request);
        bench
            .execute(&job, &mut report)
            .map_err(|failure| blame(failure, PARAMETERS))
    }
}
