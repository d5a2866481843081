//! What is refused, and what is left out.

use kit::failure::bad_parameter;
use kit::limits::file_name;
use kit::Size;
use wire::{AccessKind, Failure};

use super::super::options::{BackendName, Existing, Msync};
use super::super::table::Test;
use super::{Params, ENTRY_BYTES, RECORDS_MAX, RECORD_MIN};
use storage::access::{check_cache_limit, unaligned};

/// What the records under way of one child may take in memory.
const SLOTS_MAX: Size = Size(1 << 30);
/// What the logs of all children may take in memory.
const LOGS_MAX: Size = Size(1 << 30);
/// No device has smaller sectors, so that a direct record is a multiple of this at least.
const SECTOR_BYTES: u64 = 512;

impl Params {
    /// Checks everything, and gives the tests that were left out.
    ///
    /// # Errors
    /// `BadJob`, naming the parameter.
    pub(super) fn check(&mut self) -> Result<Vec<Test>, Failure> {
        check_cache_limit(self.access, self.cache_limit)?;
        file_name("name", &self.name)?;
        self.check_backend()?;
        self.check_cells()?;
        let left_out = self.check_direct()?;
        self.check_existing()?;
        self.check_log(1)?;
        Ok(left_out)
    }

    fn check_backend(&self) -> Result<(), Failure> {
        let is_mapped = self.backend == BackendName::Mmap;
        if is_mapped && self.access == AccessKind::Direct {
            let message = "parameter \"access\": a mapping is made of the page cache; use \
                           \"in-cache\", or another backend";
            return Err(bad_parameter("access", message));
        }
        if self.msync != Msync::None && !is_mapped {
            let message = "parameter \"msync\": only mapped records are synced so; use \
                           include_fsync or open_sync, or backend \"mmap\"";
            return Err(bad_parameter("msync", message));
        }
        self.check_depth()
    }

    fn check_depth(&self) -> Result<(), Failure> {
        if self.backend != BackendName::Libaio {
            let parameter = match (self.depth, self.copies) {
                (1, false) => return Ok(()),
                (1, true) => "copies",
                _ => "depth",
            };
            let message = format!(
                "parameter \"{parameter}\": one record is moved at a time; use backend \"libaio\""
            );
            return Err(bad_parameter(parameter, message));
        }
        if self.jitter {
            let message = "parameter \"jitter\": with backend \"libaio\" nothing is sought; use \
                           backend \"sync\"";
            return Err(bad_parameter("jitter", message));
        }
        let largest = self.record.iter().max().copied().unwrap_or(RECORD_MIN);
        if largest.bytes() * u64::from(self.depth) > SLOTS_MAX.bytes() {
            let message = format!(
                "parameter \"depth\": {} records of {largest} take more than {SLOTS_MAX}; use fewer, \
                 or smaller ones",
                self.depth
            );
            return Err(bad_parameter("depth", message));
        }
        Ok(())
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
            return Err(unaligned("record", record, SECTOR_BYTES));
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

    /// Logs of so many children must fit into memory.
    ///
    /// # Errors
    /// `BadJob`, naming the parameter.
    pub fn check_log(&self, children: u32) -> Result<(), Failure> {
        if self.log_append && self.log_directory.is_none() {
            let message = "parameter \"log_append\": nothing is logged; name a log_directory too";
            return Err(bad_parameter("log_append", message));
        }
        let log_bytes = |cell| self.log_bytes(cell) * u64::from(children);
        let most_bytes = self.cells().into_iter().map(log_bytes).max();
        if most_bytes > Some(LOGS_MAX.bytes()) {
            let message = format!(
                "parameter \"log_directory\": {} operations are too many to be noted in \
                 {LOGS_MAX}; use smaller files, larger records or fewer children",
                most_bytes.unwrap_or_default() / ENTRY_BYTES
            );
            return Err(bad_parameter("log_directory", message));
        }
        Ok(())
    }

    /// A file of somebody else is only read; one that is taken over is there once.
    fn check_existing(&self) -> Result<(), Failure> {
        if self.existing == Existing::TakeOver && self.cells().len() > 1 {
            let message = "parameter \"existing\": one file can be taken over, for one size of \
                           record; use one of each, or \"refuse\"";
            return Err(bad_parameter("existing", message));
        }
        let writes = self.tests.iter().any(|test| !test.only_reads());
        if self.existing == Existing::Read && writes {
            let message = "parameter \"tests\": with existing \"read\" the file must not be \
                           written; use only read, backward, stride, fread, pread and preadv";
            return Err(bad_parameter("tests", message));
        }
        Ok(())
    }
}
