//! What can be asked of the workload, and what is refused.

use std::path::Path;

use kit::failure::bad_parameter;
use kit::limits::within;
use kit::{params, List, Size};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use wire::{AccessKind, Failure, Timing};

use super::table::Test;

const RECORD_MAX: Size = Size(16 << 20);
const RECORD_MIN: Size = Size(512);
const FILE_MAX: Size = Size(1 << 40);
/// The random order needs eight bytes per record.
const RECORDS_MAX: u64 = 1 << 28;
/// No device has smaller sectors, so that a direct record is a multiple of this at least.
const SECTOR_BYTES: u64 = 512;

/// How records are moved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BackendName {
    /// System calls; C streams for the tests that are about them.
    Sync,
    /// No I/O: measures the loops themselves.
    Null,
}

/// What is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Fill {
    /// IOzone's own: zeroes with eight pattern bytes per 4 KiB, highly compressible.
    Classic,
    /// Random bytes, incompressible.
    Random,
}

/// Parameters of the workload.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// Size of the test file; several make a grid. What does not fill a record is left off.
    pub file: List<Size>,
    /// Size of a record, 512 bytes to 16M; several make a grid. Cells whose record is larger
    /// than the file are skipped.
    pub record: List<Size>,
    /// Tests to execute, always in the order in which they are listed here.
    pub tests: List<Test>,
    /// Where data come from and go to: the page cache, or the device by O_DIRECT. It is
    /// verified, and a trial that was not what is declared here has failed.
    pub access: AccessKind,
    /// Wait inside the timed region until data are on the device (IOzone's -e).
    pub include_fsync: bool,
    /// Close the file inside the timed region (IOzone's -c).
    pub include_close: bool,
    /// Distance of two strided reads, in records.
    pub stride: u64,
    /// How records are moved.
    pub backend: BackendName,
    /// Read the clock twice per pass, or once per operation for latencies.
    pub timing: Timing,
    /// Compare eight bytes per page of every record read, inside the timed region.
    pub verify: bool,
    /// What is written.
    pub content: Fill,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            file: [Size(64 << 20)].into(),
            record: [Size(4 << 10), Size(64 << 10), Size(1 << 20)].into(),
            tests: Test::ALL.into(),
            access: AccessKind::InCache,
            include_fsync: false,
            include_close: false,
            stride: 17,
            backend: BackendName::Sync,
            timing: Timing::Pass,
            verify: true,
            content: Fill::Classic,
        }
    }
}

/// One point of the grid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cell {
    /// Size of the file as asked for.
    pub file: Size,
    /// Size of a record.
    pub record: Size,
}

impl Cell {
    /// Whole records that fit into the file.
    pub fn records(self) -> u64 {
        self.file.bytes() / self.record.bytes()
    }

    /// Bytes that one pass moves.
    pub fn bytes(self) -> u64 {
        self.records() * self.record.bytes()
    }
}

impl Params {
    /// Reads and checks. Also gives the tests that cannot be done under the declared access.
    ///
    /// # Errors
    /// `BadJob`, naming the parameter.
    pub fn parse(parameters: &Map<String, Value>) -> Result<(Self, Vec<Test>), Failure> {
        let mut params: Self = params::parse(parameters)?;
        for &file in params.file.iter() {
            within("file", file, RECORD_MIN..=FILE_MAX)?;
        }
        for &record in params.record.iter() {
            within("record", record, RECORD_MIN..=RECORD_MAX)?;
        }
        within("stride", params.stride, 1..=RECORDS_MAX)?;
        params.check_cells()?;
        let left_out = params.check_direct()?;
        params.tests = params.tests.sorted();
        Ok((params, left_out))
    }

    /// The grid, file sizes outermost.
    pub fn cells(&self) -> Vec<Cell> {
        self.file
            .iter()
            .flat_map(|&file| self.record.iter().map(move |&record| Cell { file, record }))
            .filter(|cell| cell.record <= cell.file)
            .collect()
    }

    fn check_cells(&self) -> Result<(), Failure> {
        let cells = self.cells();
        if cells.is_empty() {
            return Err(bad_parameter(
                "record",
                "parameter \"record\": every record is larger than every file; \
                 use a record no larger than the largest file",
            ));
        }
        if let Some(cell) = cells.iter().find(|cell| cell.records() > RECORDS_MAX) {
            let message = format!(
                "parameter \"record\": {} makes {} records of a file of {}; use at most {RECORDS_MAX}",
                cell.record,
                cell.records(),
                cell.file
            );
            return Err(bad_parameter("record", message));
        }
        Ok(())
    }

    /// Direct records are whole sectors, and there is nothing direct about C streams, which copy
    /// through a buffer of their own: those tests are left out, and given.
    fn check_direct(&mut self) -> Result<Vec<Test>, Failure> {
        if self.access != AccessKind::Direct {
            return Ok(Vec::new());
        }
        let whole = |record: &Size| record.bytes().is_multiple_of(SECTOR_BYTES);
        if let Some(&record) = self.record.iter().find(|record| !whole(record)) {
            return Err(unaligned(record, SECTOR_BYTES));
        }
        let streams = self.tests.clone().filtered(|test| test.is_stream());
        let others = self.tests.clone().filtered(|test| !test.is_stream());
        self.tests = others.ok_or_else(|| {
            bad_parameter(
                "tests",
                "parameter \"tests\": fwrite and fread use C streams, which ignore direct access; \
                 use access \"in-cache\" or another test",
            )
        })?;
        Ok(streams.map_or(Vec::new(), |streams| streams.to_vec()))
    }
}

/// Direct I/O on this target needs records that are multiples of `align_bytes`.
pub fn unaligned(record: Size, align_bytes: u64) -> Failure {
    bad_parameter(
        "record",
        format!(
            "parameter \"record\": {record} is not a multiple of {align_bytes} bytes, \
             which direct access needs here"
        ),
    )
}

/// The test file in `directory`.
pub fn file_in(directory: &Path) -> std::path::PathBuf {
    directory.join("iozone.tmp")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn parse(value: Value) -> Result<(Params, Vec<Test>), Failure> {
        Params::parse(value.as_object().unwrap())
    }

    #[test]
    fn defaults_are_all_tests_in_order() {
        let (params, left_out) = parse(json!({})).unwrap();
        assert_eq!(&*params.tests, &Test::ALL);
        assert_eq!(params.cells().len(), 3);
        assert!(left_out.is_empty());
    }

    #[test]
    fn records_larger_than_the_file_are_skipped() {
        let job = json!({"file": ["64k", "1M"], "record": ["4k", "256k"]});
        let (params, _) = parse(job).unwrap();
        let cells: Vec<_> = params
            .cells()
            .iter()
            .map(|cell| (cell.file.to_string(), cell.record.to_string()))
            .collect();
        let wanted = [("64k", "4k"), ("1M", "4k"), ("1M", "256k")];
        assert_eq!(cells, wanted.map(|(f, r)| (f.into(), r.into())));
    }

    #[test]
    fn the_tail_that_fills_no_record_is_dropped() {
        let cell = Cell {
            file: Size(100 << 10),
            record: Size(32 << 10),
        };
        assert_eq!((cell.records(), cell.bytes()), (3, 96 << 10));
    }

    #[test]
    fn refusals_name_the_parameter() {
        for (job, parameter) in [
            (json!({"record": "32M"}), "record"),
            (json!({"record": 100}), "record"),
            (json!({"file": "4k", "record": "8k"}), "record"),
            (json!({"file": "1T", "record": 512}), "record"),
            (json!({"access": "direct", "record": 1000}), "record"),
            (json!({"file": "0"}), "file"),
            (json!({"stride": 0}), "stride"),
            (json!({"tests": ["reed"]}), "tests[0]"),
            (json!({"tests": []}), "tests"),
            (json!({"access": "direct", "tests": ["fread"]}), "tests"),
            (json!({"access": "cold"}), "access"),
            (json!({"recrod": "4k"}), "recrod"),
        ] {
            let failure = parse(job.clone()).expect_err(&job.to_string());
            assert_eq!(failure.parameter.as_deref(), Some(parameter), "{job}");
        }
    }

    #[test]
    fn tests_are_ordered_and_streams_are_left_out_of_direct_trials() {
        let job = json!({"tests": ["fread", "stride", "write"], "access": "direct"});
        let (params, left_out) = parse(job).unwrap();
        assert_eq!(&*params.tests, &[Test::Write, Test::Stride]);
        assert_eq!(left_out, [Test::Fread]);
    }
}
