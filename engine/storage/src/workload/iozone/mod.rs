//! IOzone: how fast one process moves the records of one file, in thirteen ways.
//!
//! Timing formula: value = N × R / (t1 − t0), N whole records of R bytes. t0 is taken after the
//! file was opened, synced and (for sequential reads) primed with record 0; t1 after the last
//! record, and after fsync and close where the parameters include them. Seeks and the
//! comparison of eight bytes per page lie inside.
//!
//! Lineage: IOzone by William D. Norcott and Don Capps, <https://www.iozone.org>; the order of
//! random records is the one of revision 3.488 and later.
//!
//! Known deviations: the clock is monotonic and counts nanoseconds; nothing is subtracted from
//! the time measured; a file in the way is refused, never overwritten; a trial that does not
//! start with a writing test lays the file out first, untimed.

mod evidence;
pub mod loops;
mod params;
mod pass;
mod run;
mod scratch;
mod table;

use std::path::{Path, PathBuf};

use kit::Ledger;
use serde_json::{json, Map, Value};
use wire::{Card, Direction, Failure, MetricCard, Role, Timing, Unit};

use self::params::{file_in, Cell, Params};
use self::table::Test;
use super::{Trial, Workload};

/// The workload; see the module.
pub struct Iozone;

impl Workload for Iozone {
    fn card(&self) -> Card {
        Card {
            name: "iozone".to_owned(),
            about: "thirteen ways to write and read the records of one file".to_owned(),
            lineage: "IOzone by William D. Norcott and Don Capps, https://www.iozone.org; \
                      record order and timed regions of revision 3.488 and later"
                .to_owned(),
            timing: "value = N × R / (t1 − t0) for N whole records of R bytes; t0 after open, \
                     fsync and priming read, t1 after the last record (and after fsync and close \
                     where included); seeks and the comparison of eight bytes per page are inside"
                .to_owned(),
            description: "For each file size and record size, one file is made in the target \
                          directory; all tests are executed on it in their fixed order, and it is \
                          removed. Every test moves each record once (record rewrite moves the \
                          first one as often). Reads follow writes of the same file, so that they \
                          come from the page cache unless access is direct; either is verified. \
                          The backward test has a second pass that, as in the original, is not \
                          reported."
                .to_owned(),
            parameters: kit::params::schema::<Params>(),
            metrics: metrics(),
            grid: vec!["file".to_owned(), "record".to_owned()],
            usual: json!({"file": ["16M", "64M"], "record": ["4k", "64k", "1M"]}),
            smoke: json!({"file": "128k", "record": ["4k", "32k"]}),
        }
    }

    fn plan(
        &self,
        parameters: &Map<String, Value>,
        directory: &Path,
    ) -> Result<Box<dyn Trial>, Failure> {
        let (params, left_out) = Params::parse(parameters)?;
        let path = file_in(directory);
        if path.symlink_metadata().is_ok() {
            return Err(scratch::in_the_way(&path));
        }
        Ok(Box::new(IozoneTrial {
            params,
            left_out,
            path,
        }))
    }
}

fn metrics() -> Vec<MetricCard> {
    let passes = Test::ALL.iter().flat_map(|test| test.passes());
    passes
        .filter_map(|pass| {
            Some(MetricCard {
                name: pass.metric?.to_owned(),
                label: pass.label.to_owned(),
                unit: Unit::BytesPerSecond,
                direction: Direction::Higher,
                role: Role::Headline,
                about: pass.about.to_owned(),
            })
        })
        .collect()
}

struct IozoneTrial {
    params: Params,
    left_out: Vec<Test>,
    path: PathBuf,
}

impl Trial for IozoneTrial {
    fn effective(&self) -> Map<String, Value> {
        kit::params::effective(&self.params)
    }

    fn timing(&self) -> Timing {
        self.params.timing
    }

    fn run(self: Box<Self>, ledger: &mut Ledger) -> Result<(), Failure> {
        self.warn(ledger);
        run::run(&self.params, self.path, ledger)
    }
}

impl IozoneTrial {
    fn warn(&self, ledger: &mut Ledger) {
        if !self.left_out.is_empty() {
            ledger.warning(
                "tests-left-out",
                "fwrite and fread use C streams, which ignore direct access: left out",
                Some("measure them with access in-cache"),
            );
        }
        let stride = self.params.stride;
        let few = |cell: &Cell| cell.records() <= stride;
        let strided = self.params.tests.contains(&Test::Stride);
        if let Some(cell) = self
            .params
            .cells()
            .into_iter()
            .find(few)
            .filter(|_| strided)
        {
            let Cell { file, record } = cell;
            ledger.warning(
                "stride-degenerate",
                format!(
                    "with no more than {stride} records, as in file {file} record {record}, \
                     stride read reads record 0 only, as the original does"
                ),
                Some("use a larger file, a smaller record or a smaller stride"),
            );
        }
    }
}
