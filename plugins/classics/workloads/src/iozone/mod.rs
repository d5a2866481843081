//! IOzone: how fast one process moves the records of one file, in thirteen ways and eight more.
//!
//! Timing formula: value = N × R / (t1 − t0), N whole records of R bytes. t0 is taken after the
//! file was opened, synced and (for sequential reads) primed with record 0; t1 after the last
//! record, and after fsync and close where the parameters include them. Seeks, locks, purging,
//! jitter and the comparison of what was read are inside; think time is subtracted.
//!
//! Lineage: IOzone by William D. Norcott and Don Capps, <https://www.iozone.org>; the order of
//! random records is the one of revision 3.488 and later, or the earlier one by parameter.
//!
//! Known deviations: the clock is monotonic and counts nanoseconds; nothing is subtracted from
//! the time measured except think time; a file in the way is refused, never overwritten; a trial
//! that does not start with a writing test lays the file out first, untimed; vectored calls,
//! with which the original is not built on Linux, move every record once. A file that is mapped
//! gets its size by ftruncate, where the original writes the last record, and is mapped shared
//! for reading too; asynchronous records go to the kernel's queue (see `async_io`), where the
//! original, with the C library's threads, rarely has more than one in flight.
//!
//! Its throughput mode, many children at once, is a separate workload: [`Throughput`].

mod async_io;
mod cell_resources;
pub mod grid;
mod hooks;
mod locks;
mod log;
mod options;
mod params;
mod pass;
mod pattern;
mod run;
mod table;
mod throughput;

use std::path::{Path, PathBuf};

use kit::failure::bad_parameter;
use kit::trial::Planned;
use kit::EventSink;
use serde_json::{json, Map, Value};
use wire::{Card, Failure, MetricCard, Role, TargetKind, Timing, Unit};

use self::grid::{Cell, Grid};
use self::options::{Existing, StrideOrder};
use self::params::Params;
use self::table::Test;
pub use self::throughput::Throughput;
use storage::scratch;
use storage::workload::{Trial, Workload};

/// The workload; see the module.
pub struct Iozone;

impl Iozone {
    /// The logs that a trial with these parameters writes, or adds to.
    ///
    /// # Errors
    /// `BadJob`, naming the parameter.
    pub fn logs(parameters: &Map<String, Value>) -> Result<Vec<PathBuf>, Failure> {
        let (params, _) = Params::parse(parameters)?;
        Ok(log::paths(&params).collect())
    }
}

impl Workload for Iozone {
    fn name(&self) -> &'static str {
        "iozone"
    }

    fn card(&self) -> Card {
        Card {
            name: self.name().to_owned(),
            title: "IOzone".to_owned(),
            target: TargetKind::Directory,
            about: "thirteen ways to write and read the records of one file".to_owned(),
            lineage: LINEAGE.to_owned(),
            timing: TIMING.to_owned(),
            description: DESCRIPTION.to_owned(),
            parameters: kit::params::schema::<Params>(),
            metrics: metrics(),
            grid: vec!["file".to_owned(), "record".to_owned()],
            usual: json!({"file": ["16M", "64M"], "record": ["4k", "64k", "1M"]}),
            smoke: json!({"file": "128k", "record": ["4k", "32k"], "tests": Test::ALL}),
        }
    }

    fn plan(&self, parameters: &Map<String, Value>, directory: &Path) -> Planned {
        let (params, left_out) = Params::parse(parameters)?;
        let path = directory.join(&params.name);
        match params.existing {
            Existing::Refuse => scratch::check_free([path])?,
            Existing::Read | Existing::TakeOver => check_found(&path, &params)?,
        }
        log::check_place(&params, log::paths(&params))?;
        Ok(Box::new(Plan {
            params,
            left_out,
            directory: directory.to_owned(),
        }))
    }
}

const LINEAGE: &str = "\
IOzone by William D. Norcott and Don Capps, https://www.iozone.org; record order and timed regions \
of revision 3.488 and later, the record order of earlier ones by parameter";

const TIMING: &str = "\
value = N × R / (t1 − t0) for N whole records of R bytes; t0 after open, fsync and priming read, \
t1 after the last record (and after fsync and close where included); seeks, locks, purging and the \
comparison of eight bytes per page (or of all) are inside, think time is not";

const DESCRIPTION: &str = "\
For each file size and record size, one file is made in the target directory; all tests are \
executed on it in their fixed order, and it is removed. Every test moves each record once (record \
rewrite moves the first one as often). Reads follow writes of the same file, so that they come \
from the page cache unless access is direct; either is verified. The first eight tests give the \
thirteen columns of the original; pwrite, pread, pwritev and preadv are executed when they are \
named. Two defects of the original are put right unless `classic` is set: its stride read leaves \
out the last two records and is stuck on record 0 in small files, where stride_order \
\"whole-file\" reads every record once; and its backward test has a second pass that it does not \
report. Records are moved by system calls, through a mapping, or with several in flight at once, \
but those of C streams always by the C library. With timing \"operation\" results have histograms \
of latency. Place, latency and size of every operation are written to files when log_directory \
names a place for them (the original's -Q). A figure of each test is given in its own unit and \
rounding beside the value.";

/// The grid that a trial with these parameters goes through.
///
/// # Errors
/// `BadJob`, naming the parameter.
pub fn grid(parameters: &Map<String, Value>) -> Result<Grid, Failure> {
    let (params, _) = Params::parse(parameters)?;
    Ok(Grid {
        files: params.file.to_vec(),
        records: params.record.to_vec(),
        cells: params.cells(),
    })
}

/// The file that is to be there must be, with enough in it.
fn check_found(path: &Path, params: &Params) -> Result<(), Failure> {
    let wanted = params.cells().iter().map(|cell| cell.bytes()).max();
    let found = path.metadata().ok().filter(|found| found.is_file());
    if found.is_some_and(|found| Some(found.len()) >= wanted) {
        return Ok(());
    }
    let message = format!(
        "parameter \"existing\": {} is not a file of at least {} bytes; \
         keep one in an earlier trial, or use \"refuse\" to make it",
        path.display(),
        wanted.unwrap_or_default()
    );
    Err(bad_parameter("existing", message))
}

fn metrics() -> Vec<MetricCard> {
    let passes = Test::ALL.iter().flat_map(|test| test.passes());
    passes
        .filter_map(|pass| {
            let (unit, role) = (Unit::BytesPerSecond, Role::Headline);
            Some(MetricCard::new(
                pass.metric?,
                pass.label,
                unit,
                role,
                pass.about,
            ))
        })
        .collect()
}

fn warn_of_depth(params: &Params, event_sink: &mut EventSink) {
    if !params.is_deep() {
        event_sink.warning(
            "depth-not-reached",
            "the kernel moves records of libaio one after the other unless access is direct",
            Some("use access direct, or depth 1"),
        );
    }
}

/// A trial ready to be executed.
struct Plan {
    params: Params,
    left_out: Vec<Test>,
    directory: PathBuf,
}

impl Trial for Plan {
    fn effective(&self) -> Map<String, Value> {
        kit::params::effective(&self.params)
    }

    fn timing(&self) -> Timing {
        self.params.clock_reading()
    }

    fn run(self: Box<Self>, event_sink: &mut EventSink) -> Result<(), Failure> {
        self.warn(event_sink);
        run::run(&self.params, &self.directory, event_sink)
    }
}

impl Plan {
    fn warn(&self, event_sink: &mut EventSink) {
        if !self.left_out.is_empty() {
            event_sink.warning(
                "tests-left-out",
                "fwrite and fread use C streams, which ignore direct access: left out",
                Some("measure them with access in-cache"),
            );
        }
        warn_of_depth(&self.params, event_sink);
        self.warn_of_stride(event_sink);
    }

    fn warn_of_stride(&self, event_sink: &mut EventSink) {
        let stride = self.params.stride;
        let is_classic = self.params.stride_order == StrideOrder::Classic;
        if !is_classic || !self.params.tests.contains(&Test::Stride) {
            return;
        }
        let cells = self.params.cells();
        if let Some(cell) = cells.iter().find(|cell| cell.records() <= stride) {
            let Cell { file, record } = cell;
            event_sink.warning(
                "stride-degenerate",
                format!(
                    "with no more than {stride} records, as in file {file} record {record}, \
                     stride read reads record 0 only, as the original does"
                ),
                Some(
                    "use stride_order \"whole-file\", a larger file, a smaller record or a \
                     smaller stride",
                ),
            );
        }
    }
}

#[cfg(test)]
mod tests;
