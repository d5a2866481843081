//! The format of Excel 2007 and later (ECMA-376): XML in a ZIP archive, here not compressed. A
//! library for it would be a thirtieth of the engine.

use super::{Cell, Sheet};

const HEAD: &str = r#"<?xml version="1.0" encoding="UTF-8" standalone="yes"?>"#;
const CONTENT: &str = "http://schemas.openxmlformats.org/package/2006/content-types";
const LINKS: &str = "http://schemas.openxmlformats.org/package/2006/relationships";
const LINK_KINDS: &str = "http://schemas.openxmlformats.org/officeDocument/2006/relationships";
const MAIN: &str = "http://schemas.openxmlformats.org/spreadsheetml/2006/main";
const KIND: &str = "application/vnd.openxmlformats-officedocument.spreadsheetml";

/// The sheet as the bytes of a file.
pub fn encode(sheet: &Sheet) -> Vec<u8> {
    let link = |kind: &str, target: &str| {
        format!(
            r#"<Relationships xmlns="{LINKS}"><Relationship Id="rId1" Type="{LINK_KINDS}/{kind}" Target="{target}"/></Relationships>"#
        )
    };
    let types = format!(
        r#"<Types xmlns="{CONTENT}"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Override PartName="/xl/workbook.xml" ContentType="{KIND}.sheet.main+xml"/><Override PartName="/xl/sheet.xml" ContentType="{KIND}.worksheet+xml"/></Types>"#
    );
    let workbook = format!(
        r#"<workbook xmlns="{MAIN}" xmlns:r="{LINK_KINDS}"><sheets><sheet name="Sheet1" sheetId="1" r:id="rId1"/></sheets></workbook>"#
    );
    archive(&[
        ("[Content_Types].xml", types),
        ("_rels/.rels", link("officeDocument", "xl/workbook.xml")),
        ("xl/workbook.xml", workbook),
        ("xl/_rels/workbook.xml.rels", link("worksheet", "sheet.xml")),
        ("xl/sheet.xml", page(sheet)),
    ])
}

fn page(sheet: &Sheet) -> String {
    let mut text = format!(r#"<worksheet xmlns="{MAIN}"><sheetData>"#);
    for (number, row) in (1..).zip(sheet.rows()) {
        text += &format!(r#"<row r="{number}">"#);
        for (index, cell) in row.iter().enumerate() {
            let place = format!("{}{number}", column(index));
            text += &match cell {
                Cell::Empty => continue,
                Cell::Number(value) => format!(r#"<c r="{place}"><v>{value}</v></c>"#),
                Cell::Text(words) => format!(
                    r#"<c r="{place}" t="inlineStr"><is><t xml:space="preserve">{}</t></is></c>"#,
                    escaped(words)
                ),
            };
        }
        text += "</row>";
    }
    text + "</sheetData></worksheet>"
}

/// A … Z, AA, AB and so on.
fn column(index: usize) -> String {
    let letter = char::from(b'A' + (index % 26) as u8);
    match index / 26 {
        0 => letter.to_string(),
        before => column(before - 1) + &letter.to_string(),
    }
}

/// XML has no control characters but these.
fn escaped(text: &str) -> String {
    let mut escaped = String::new();
    for letter in text.chars() {
        match letter {
            '&' => escaped += "&amp;",
            '<' => escaped += "&lt;",
            '>' => escaped += "&gt;",
            '\t' | '\n' => escaped.push(letter),
            letter if letter.is_control() => escaped.push('?'),
            letter => escaped.push(letter),
        }
    }
    escaped
}

/// A ZIP archive (APPNOTE.TXT of PKWARE) of parts that are stored as they are.
fn archive(parts: &[(&str, String)]) -> Vec<u8> {
    let (mut bytes, mut directory) = (Vec::new(), Vec::new());
    for (name, text) in parts {
        let text = format!("{HEAD}\n{text}");
        // Version 2.0, no flags, stored, at midnight of 1980-01-01.
        let mut entry = [20, 0, 0, 0, 0, 0, 0, 0, 0x21, 0].to_vec();
        let size = text.len() as u32;
        entry.extend(
            [crc32(text.as_bytes()), size, size]
                .map(u32::to_le_bytes)
                .concat(),
        );
        entry.extend([name.len() as u16, 0].map(u16::to_le_bytes).concat());
        directory.extend(b"PK\x01\x02\x14\x00");
        directory.extend(&entry);
        // No comment, the first disk, no attributes.
        directory.extend([0; 10]);
        directory.extend((bytes.len() as u32).to_le_bytes());
        directory.extend(name.as_bytes());
        bytes.extend(b"PK\x03\x04");
        bytes.extend(&entry);
        bytes.extend(name.as_bytes());
        bytes.extend(text.as_bytes());
    }
    let [begin, size] = [bytes.len(), directory.len()].map(|length| length as u32);
    let count = parts.len() as u16;
    bytes.extend(directory);
    bytes.extend(b"PK\x05\x06");
    bytes.extend([0, 0, count, count].map(u16::to_le_bytes).concat());
    bytes.extend([size, begin].map(u32::to_le_bytes).concat());
    bytes.extend([0; 2]);
    bytes
}

/// CRC-32 of ISO 3309, reflected.
fn crc32(bytes: &[u8]) -> u32 {
    let step = |crc: u32, _| (crc >> 1) ^ (0xedb8_8320 & (crc & 1).wrapping_neg());
    !bytes.iter().fold(u32::MAX, |crc, &byte| {
        (0..8).fold(crc ^ u32::from(byte), step)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_and_columns_are_the_published_ones() {
        assert_eq!(crc32(b"123456789"), 0xcbf4_3926);
        let columns = [0, 25, 26, 51, 52, 701, 702].map(column);
        assert_eq!(columns, ["A", "Z", "AA", "AZ", "BA", "ZZ", "AAA"]);
        assert_eq!(escaped("a<&>\u{1b}\tä"), "a&lt;&amp;&gt;?\tä");
    }
}
