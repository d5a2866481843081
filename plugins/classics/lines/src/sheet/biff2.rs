//! BIFF2, the format of Excel 2: records of a type, a length and data, all little-endian. (Its
//! records are described in "Microsoft Excel File Format" of OpenOffice.org, by D. Rentz.)

use super::{Cell, Sheet};

const BOF: u16 = 0x0009;
const NUMBER: u16 = 0x0003;
const LABEL: u16 = 0x0004;
const EOF: u16 = 0x000a;
/// Version 2, and a worksheet.
const WORKSHEET: [u8; 4] = [0x02, 0x00, 0x10, 0x00];
/// No attributes of a cell.
const PLAIN: [u8; 3] = [0; 3];
/// The length of a text is one byte.
const TEXT_MAX: usize = 255;

/// The sheet as the bytes of a file.
pub fn encode(sheet: &Sheet) -> Vec<u8> {
    let mut bytes = Vec::new();
    push(&mut bytes, BOF, &WORKSHEET);
    for (row, column, cell) in sheet.cells() {
        let place = [row as u16, column as u16].map(u16::to_le_bytes).concat();
        match cell {
            Cell::Empty => {}
            Cell::Number(value) => {
                push(
                    &mut bytes,
                    NUMBER,
                    &[&place, &PLAIN[..], &value.to_le_bytes()].concat(),
                );
            }
            Cell::Text(text) => {
                let text = ascii(text);
                let length = [text.len() as u8];
                push(
                    &mut bytes,
                    LABEL,
                    &[&place, &PLAIN[..], &length, &text].concat(),
                );
            }
        }
    }
    push(&mut bytes, EOF, &[]);
    bytes
}

fn push(bytes: &mut Vec<u8>, kind: u16, data: &[u8]) {
    bytes.extend(kind.to_le_bytes());
    bytes.extend((data.len() as u16).to_le_bytes());
    bytes.extend(data);
}

/// What is beyond ASCII depends on a code page, and what is beyond 255 bytes does not fit.
fn ascii(text: &str) -> Vec<u8> {
    let letters = text.chars().take(TEXT_MAX);
    letters
        .map(|letter| {
            if letter.is_ascii() {
                letter as u8
            } else {
                b'?'
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_become_records_at_their_place() {
        let mut sheet = Sheet::default();
        sheet.push(vec![Cell::Text("ä4".into())]);
        sheet.push(vec![Cell::Empty, Cell::Number(1.0)]);
        let expected = [
            &[9, 0, 4, 0, 2, 0, 16, 0][..],
            &[4, 0, 10, 0, 0, 0, 0, 0, 0, 0, 0, 2, b'?', b'4'],
            &[
                3, 0, 15, 0, 1, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xf0, 0x3f,
            ],
            &[10, 0, 0, 0],
        ];
        assert_eq!(encode(&sheet), expected.concat());
    }

    #[test]
    fn a_long_text_is_cut() {
        let mut sheet = Sheet::default();
        sheet.push(vec![Cell::Text("x".repeat(300))]);
        assert_eq!(encode(&sheet).len(), 8 + 4 + 8 + 255 + 4);
    }
}
