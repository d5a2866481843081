//! Names of the qualities of service that -Y takes.

use wire::Failure;

use crate::options::Given;

/// The values of the old TOS byte that have names.
const TOS: [(&str, u8); 3] = [
    ("lowdelay", 0x10),
    ("throughput", 0x08),
    ("reliability", 0x04),
];

/// Expedited forwarding, RFC 3246.
const EF: u8 = 46 << 2;

/// The TOS byte: `ef`, a class (`cs0` … `cs7`), an assured class (`af11` … `af43`), an old name, or
/// a number in any base.
///
/// # Errors
/// `BadJob`, naming the option.
pub fn read(given: &Given, text: &str) -> Result<u8, Failure> {
    let lower = text.to_lowercase();
    let tos = TOS.iter().find(|(name, _)| *name == lower);
    let named = tos.map(|(_, value)| *value).or_else(|| class(&lower));
    named.or_else(|| any_base(&lower)).ok_or_else(|| {
        given.wrong(format!(
            "\"{text}\" is not a quality of service; write a number up to 255, ef, cs0 to cs7, \
             af11 to af43, lowdelay, throughput or reliability"
        ))
    })
}

/// RFC 2474 and RFC 2597: the class in the three highest bits, then the chance of being dropped.
fn class(text: &str) -> Option<u8> {
    match text.as_bytes() {
        b"ef" => Some(EF),
        [b'c', b's', class @ b'0'..=b'7'] => Some((class - b'0') << 5),
        [b'a', b'f', class @ b'1'..=b'4', drop @ b'1'..=b'3'] => {
            Some((class - b'0') << 5 | (drop - b'0') << 3)
        }
        _ => None,
    }
}

fn any_base(text: &str) -> Option<u8> {
    match text.strip_prefix("0x") {
        Some(digits) => u8::from_str_radix(digits, 16).ok(),
        None if text.len() > 1 && text.starts_with('0') => u8::from_str_radix(text, 8).ok(),
        None => text.parse().ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::{self, Choice};

    #[test]
    fn names_and_numbers_of_every_base_are_known() {
        let choices = [Choice::value("-Y", "TOS", "")];
        let line = options::read(&choices, ["-Y", "x"].map(Into::into).to_vec()).unwrap();
        let tos = |text| read(&line.options[0], text);
        for (text, value) in [
            ("ef", 0xb8),
            ("EF", 0xb8),
            ("cs1", 0x20),
            ("cs7", 0xe0),
            ("af11", 0x28),
            ("af43", 0x98),
            ("lowdelay", 0x10),
            ("0x28", 0x28),
            ("010", 8),
            ("255", 255),
            ("0", 0),
        ] {
            assert_eq!(tos(text).unwrap(), value, "{text}");
        }
        for text in ["af14", "cs8", "256", "ee", ""] {
            assert!(tos(text).unwrap_err().message.contains("af11 to af43"));
        }
    }
}
