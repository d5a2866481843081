//! The grid: sizes of files and records, and IOzone's auto mode that makes them up.

use kit::failure::bad_parameter;
use kit::limits::within;
use kit::trial::point;
use kit::{List, Size};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{json, Map, Value};
use wire::Failure;

/// Files above this size are not measured with records below [`CROSSOVER_RECORD_MIN`] when the
/// crossover rule holds.
const CROSSOVER_FILE: Size = Size(16 << 20);
const CROSSOVER_RECORD_MIN: Size = Size(64 << 10);

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

    /// Whether the crossover rule leaves it out.
    pub fn is_crossed_over(self) -> bool {
        self.file > CROSSOVER_FILE && self.record < CROSSOVER_RECORD_MIN
    }

    /// Its place in the grid, as a sample names it.
    pub fn point(self) -> Map<String, Value> {
        point([("file", json!(self.file)), ("record", json!(self.record))])
    }
}

/// All points, and the sizes that span them.
#[derive(Debug, Clone, PartialEq)]
pub struct Grid {
    /// Sizes of files.
    pub files: Vec<Size>,
    /// Sizes of records, also of those that no file is measured with.
    pub records: Vec<Size>,
    /// Files outermost.
    pub cells: Vec<Cell>,
}

/// IOzone's auto mode (-a): sizes that grow by a factor between bounds.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Auto {
    /// Smallest file (-n).
    #[schemars(extend("amount" = "bytes", "least" = 65_536))]
    pub file_min: Size,
    /// Largest file (-g).
    #[schemars(extend("amount" = "bytes", "least" = 65_536))]
    pub file_max: Size,
    /// Smallest record (-y); 4k when left out.
    pub record_min: Option<Size>,
    /// Largest record (-q); 16M when left out.
    pub record_max: Option<Size>,
    /// What files and records grow by (-+x).
    #[schemars(range(min = 2, max = 1024))]
    pub multiplier: u64,
}

impl Default for Auto {
    fn default() -> Self {
        Self {
            file_min: Size(64 << 10),
            file_max: Size(512 << 20),
            record_min: None,
            record_max: None,
            multiplier: 2,
        }
    }
}

impl Auto {
    /// The sizes of files.
    ///
    /// # Errors
    /// `BadJob` when the bounds leave nothing.
    pub fn files(&self) -> Result<List<Size>, Failure> {
        let (least, most) = (self.file_min, self.file_max);
        growing("auto.file_min", least, most, self.multiplier)
    }

    /// The sizes of records.
    ///
    /// # Errors
    /// `BadJob` when the bounds leave nothing.
    pub fn records(&self) -> Result<List<Size>, Failure> {
        let least = self.record_min.unwrap_or(Size(4 << 10));
        let most = self.record_max.unwrap_or(Size(16 << 20));
        growing("auto.record_min", least, most, self.multiplier)
    }

    /// Whether records were left to the tool: only then the original crosses over.
    pub fn leaves_records_open(&self) -> bool {
        self.record_min.is_none() && self.record_max.is_none()
    }
}

/// `least`, and what it grows to while it is not larger than `most`.
fn growing(parameter: &str, least: Size, most: Size, factor: u64) -> Result<List<Size>, Failure> {
    within("auto.multiplier", factor, 2..=1024)?;
    let grown = |size: &Size| size.bytes().checked_mul(factor).map(Size);
    let first = (least.bytes() > 0).then_some(least);
    let sizes = std::iter::successors(first, grown).take_while(|&size| size <= most);
    List::of(sizes.collect()).ok_or_else(|| {
        let message = format!(
            "parameter \"{parameter}\": no size lies between {least} and {most}; \
             use more than 0, and no more than the upper bound"
        );
        bad_parameter(parameter, message)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(sizes: &List<Size>) -> String {
        let sizes: Vec<_> = sizes.iter().map(Size::to_string).collect();
        sizes.join(" ")
    }

    #[test]
    fn bounds_are_the_defaults_of_the_original() {
        let auto = Auto::default();
        assert_eq!(
            shown(&auto.files().unwrap()),
            "64k 128k 256k 512k 1M 2M 4M 8M 16M 32M 64M 128M 256M 512M"
        );
        assert_eq!(auto.records().unwrap().len(), 13);
        assert!(auto.leaves_records_open());
    }

    #[test]
    fn sizes_grow_from_the_lower_bound_whatever_it_is() {
        let auto = Auto {
            file_min: Size(100 << 10),
            file_max: Size(600 << 10),
            ..Auto::default()
        };
        assert_eq!(shown(&auto.files().unwrap()), "100k 200k 400k");
        let auto = Auto {
            multiplier: 4,
            ..auto
        };
        assert_eq!(shown(&auto.files().unwrap()), "100k 400k");
        assert_eq!(shown(&auto.records().unwrap()), "4k 16k 64k 256k 1M 4M 16M");
    }

    #[test]
    fn bounds_that_leave_nothing_are_refused() {
        for file_min in [Size(0), Size(1 << 30)] {
            let auto = Auto {
                file_min,
                ..Auto::default()
            };
            let failure = auto.files().unwrap_err();
            assert_eq!(failure.parameter.as_deref(), Some("auto.file_min"));
        }
    }

    #[test]
    fn the_crossover_spares_small_records_on_large_files() {
        let of = |file: u64, record: u64| Cell {
            file: Size(file << 20),
            record: Size(record << 10),
        };
        assert!(of(32, 32).is_crossed_over());
        assert!(!of(32, 64).is_crossed_over());
        assert!(!of(16, 4).is_crossed_over());
    }
}
