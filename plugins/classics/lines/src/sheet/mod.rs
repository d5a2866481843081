//! A spreadsheet of one page, written in the format that its name asks for.

mod biff2;
mod xlsx;

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;

use kit::failure::io_failure;
use wire::Failure;

/// The content of one cell.
#[derive(Debug, Clone, PartialEq)]
pub enum Cell {
    Empty,
    Text(String),
    Number(f64),
}

/// Rows of cells.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Sheet {
    rows: Vec<Vec<Cell>>,
}

impl Sheet {
    /// Adds a row at the bottom.
    pub fn push(&mut self, row: Vec<Cell>) {
        self.rows.push(row);
    }

    /// The rows, from the top.
    pub fn rows(&self) -> &[Vec<Cell>] {
        &self.rows
    }

    /// Writes the sheet to `path`, which must not exist: as an Excel 2007 workbook when the name
    /// ends in `.xlsx`, else as BIFF2 (Excel 2), the format of the original.
    ///
    /// # Errors
    /// `Refused` when the file is there already; else those of writing it.
    pub fn write(&self, path: &Path) -> Result<(), Failure> {
        let is_xlsx = path.extension().is_some_and(|ending| ending == "xlsx");
        let bytes = match is_xlsx {
            true => xlsx::encode(self),
            false => biff2::encode(self),
        };
        let failed = |error| io_failure("write", path, &error);
        let mut file = File::create_new(path).map_err(failed)?;
        let written = file.write_all(&bytes).and_then(|()| file.sync_all());
        written.map_err(|error| {
            // A part of it would be in the way of the next one, and is of use to nobody.
            let _ = fs::remove_file(path);
            failed(error)
        })
    }

    /// The cells that hold something, with row and column.
    fn cells(&self) -> impl Iterator<Item = (usize, usize, &Cell)> {
        self.rows().iter().enumerate().flat_map(|(row, cells)| {
            let cells = cells.iter().enumerate();
            cells
                .filter(|(_, cell)| **cell != Cell::Empty)
                .map(move |(column, cell)| (row, column, cell))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_decides_the_format_and_nothing_is_overwritten() {
        let directory = tempfile::tempdir().unwrap();
        let mut sheet = Sheet::default();
        sheet.push(vec![
            Cell::Text("kB".into()),
            Cell::Empty,
            Cell::Number(4.5),
        ]);
        for (name, beginning) in [
            ("x.xls", [9, 0, 4, 0]),
            ("x.wks", [9, 0, 4, 0]),
            ("x.xlsx", *b"PK\x03\x04"),
        ] {
            let path = directory.path().join(name);
            sheet.write(&path).unwrap();
            assert_eq!(std::fs::read(&path).unwrap()[..4], beginning, "{name}");
            assert!(sheet.write(&path).is_err());
        }
    }
}
