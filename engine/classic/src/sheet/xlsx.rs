//! The format of Excel 2007 and later.

use rust_xlsxwriter::{Workbook, XlsxError};

use super::{Cell, Sheet};

/// The sheet as the bytes of a file.
///
/// # Errors
/// When it is larger than a worksheet may be.
pub fn encode(sheet: &Sheet) -> Result<Vec<u8>, XlsxError> {
    let mut workbook = Workbook::new();
    let page = workbook.add_worksheet();
    for (row, column, cell) in sheet.cells() {
        let (row, column) = (row as u32, column as u16);
        match cell {
            Cell::Empty => {}
            Cell::Text(text) => drop(page.write_string(row, column, text)?),
            Cell::Number(value) => drop(page.write_number(row, column, *value)?),
        }
    }
    workbook.save_to_buffer()
}
