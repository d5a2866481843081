//! Values as netperf's command line writes them: numbers, pairs, times, names.

use std::time::Duration;

use netperf::client::Extent;
use netperf::message::Generation;
use wire::Failure;

use crate::netperf::confidence::Level;
use crate::netperf::units::Unit;
use crate::options::Given;

/// A number: `16384`, `-20`, `16k` (16 × 10³) or `16K` (16 × 2¹⁰); likewise m and M, g and G.
///
/// # Errors
/// `BadJob`, naming the option.
pub fn number(given: &Given, text: &str) -> Result<i64, Failure> {
    let (digits, scale) = match text.as_bytes().last() {
        Some(b'k') => (&text[..text.len() - 1], 1_000),
        Some(b'm') => (&text[..text.len() - 1], 1_000_000),
        Some(b'g') => (&text[..text.len() - 1], 1_000_000_000),
        Some(b'K') => (&text[..text.len() - 1], 1 << 10),
        Some(b'M') => (&text[..text.len() - 1], 1 << 20),
        Some(b'G') => (&text[..text.len() - 1], 1 << 30),
        _ => (text, 1),
    };
    let number: Option<i64> = digits.parse().ok();
    let scaled = number.and_then(|number| number.checked_mul(scale));
    scaled.ok_or_else(|| {
        given.wrong(format!(
            "\"{text}\" is not a number; write a whole one, or one with k, m, g (10³, 10⁶, 10⁹) \
             or K, M, G (2¹⁰, 2²⁰, 2³⁰)"
        ))
    })
}

/// A number that fits a `T`.
///
/// # Errors
/// `BadJob`, naming the option.
pub fn fitting<T: TryFrom<i64>>(given: &Given, text: &str) -> Result<T, Failure> {
    let number = number(given, text)?;
    T::try_from(number).map_err(|_| given.wrong(format!("{text} is out of range")))
}

/// Two values behind one option, for two directions or two ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pair<'t> {
    pub first: Option<&'t str>,
    pub second: Option<&'t str>,
}

impl<'t> Pair<'t> {
    /// `x,y`, `x,` or `,y`; a single `x` stands for both.
    pub fn shared(text: &'t str) -> Self {
        match text.contains(',') {
            true => Self::separate(text),
            false => Self {
                first: filled(text),
                second: filled(text),
            },
        }
    }

    /// `x,y`, `x,` or `,y`; a single `x` is the first only.
    pub fn separate(text: &'t str) -> Self {
        let (first, second) = text.split_once(',').unwrap_or((text, ""));
        Self {
            first: filled(first),
            second: filled(second),
        }
    }

    /// Puts the numbers that are given where they belong.
    ///
    /// # Errors
    /// `BadJob`, naming the option.
    pub fn store<T: TryFrom<i64>>(
        self,
        given: &Given,
        first: &mut T,
        second: &mut T,
    ) -> Result<(), Failure> {
        for (text, place) in [(self.first, first), (self.second, second)] {
            if let Some(text) = text {
                *place = fitting(given, text)?;
            }
        }
        Ok(())
    }

    /// As [`store`](Self::store), where nothing is known until something is given.
    ///
    /// # Errors
    /// `BadJob`, naming the option.
    pub fn store_known<T: TryFrom<i64>>(
        self,
        given: &Given,
        first: &mut Option<T>,
        second: &mut Option<T>,
    ) -> Result<(), Failure> {
        self.read(first, second, |text| fitting(given, text))
    }

    /// As [`store_known`](Self::store_known), for values that `read` reads.
    ///
    /// # Errors
    /// As `read`.
    pub fn read<T>(
        self,
        first: &mut Option<T>,
        second: &mut Option<T>,
        read: impl Fn(&str) -> Result<T, Failure>,
    ) -> Result<(), Failure> {
        for (text, place) in [(self.first, first), (self.second, second)] {
            if let Some(text) = text {
                *place = Some(read(text)?);
            }
        }
        Ok(())
    }
}

fn filled(text: &str) -> Option<&str> {
    (!text.is_empty()).then_some(text)
}

/// Seconds, with or without an s; a negative number counts bytes or transactions.
pub fn extent(given: &Given, text: &str) -> Result<Extent, Failure> {
    let length = number(given, text.strip_suffix('s').unwrap_or(text))?;
    match length {
        0 => Ok(Extent::Endless),
        ..0 => Ok(Extent::Count(length.unsigned_abs())),
        _ => match u32::try_from(length) {
            Ok(seconds) => Ok(Extent::Seconds(seconds)),
            Err(_) => Err(given.wrong(format!("{length} seconds are more than a test can take"))),
        },
    }
}

pub fn level(given: &Given, text: &str) -> Result<Level, Failure> {
    match text {
        "95" => Ok(Level::Percent95),
        "99" => Ok(Level::Percent99),
        _ => Err(given.wrong(format!("\"{text}\" is not a level; use 95 or 99"))),
    }
}

pub fn positive(given: &Given, text: &str) -> Result<f64, Failure> {
    match text.parse::<f64>() {
        Ok(number) if number > 0.0 && number < 1e9 => Ok(number),
        _ => Err(given.wrong(format!("\"{text}\" is not a number above zero"))),
    }
}

/// The generation that a release belongs to.
pub fn release(given: &Given) -> Result<Generation, Failure> {
    let text = given.text().to_string_lossy();
    let releases = [
        ("2.4", Generation::V2_4),
        ("2.6", Generation::V2_6),
        ("2.7", Generation::V2_7),
    ];
    let release = releases.iter().find(|(name, _)| *name == text);
    release.map(|(_, generation)| *generation).ok_or_else(|| {
        given.wrong(format!(
            "\"{text}\" is not a release that differs; use 2.4, 2.6 or 2.7"
        ))
    })
}

/// `10`, `10ms`, `500us` or `1s`; a number alone is one of milliseconds.
pub fn interval(given: &Given, text: &str) -> Result<Duration, Failure> {
    let digits = text.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    let micros = match &text[digits.len()..] {
        "s" => 1_000_000,
        "" | "m" | "ms" => 1_000,
        "u" | "us" => 1,
        _ => 0,
    };
    match digits.parse::<u32>() {
        Ok(number) if number > 0 && micros > 0 => {
            Ok(Duration::from_micros(u64::from(number) * micros))
        }
        _ => Err(given.wrong(format!(
            "\"{text}\" is not a time; write 10, 10ms, 500us or 1s"
        ))),
    }
}

/// The unit that -f names.
///
/// # Errors
/// `BadJob`, naming the option.
pub fn unit(given: &Given, text: &str) -> Result<Unit, Failure> {
    Unit::of(text).ok_or_else(|| {
        given.wrong(format!(
            "\"{text}\" is not a unit; write one of b, k, m, g (bits), B, K, M, G (bytes), x \
             (transactions)"
        ))
    })
}

/// A whole number of seconds.
///
/// # Errors
/// `BadJob`, naming the option.
pub fn seconds(given: &Given, text: &str) -> Result<Duration, Failure> {
    Ok(Duration::from_secs(fitting::<u32>(given, text)?.into()))
}

/// The values of the old TOS byte that have names.
const TOS_NAMES: [(&str, u8); 3] = [
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
pub fn tos(given: &Given, text: &str) -> Result<u8, Failure> {
    let lower = text.to_lowercase();
    let known = TOS_NAMES.iter().find(|(name, _)| *name == lower);
    let named = known.map(|(_, value)| *value).or_else(|| class(&lower));
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

    fn given(value: &str) -> Given {
        let line = options::read(
            &[Choice::value("-m", "N", "")],
            vec!["-m".into(), value.into()],
        );
        line.unwrap().options.remove(0)
    }

    #[test]
    fn small_letters_are_powers_of_ten_and_capitals_of_two() {
        for (text, value) in [
            ("4096", 4096),
            ("-20", -20),
            ("16k", 16_000),
            ("16K", 16_384),
            ("2m", 2_000_000),
            ("2M", 2 << 20),
            ("-10g", -10_000_000_000),
            ("1G", 1 << 30),
        ] {
            assert_eq!(number(&given(text), text).unwrap(), value);
        }
        for text in ["", "k", "1.5", "ten", "1kk", "99999999999G"] {
            let failure = number(&given(text), text).unwrap_err();
            assert!(
                failure.message.starts_with("option -m: \""),
                "{}",
                failure.message
            );
        }
        assert!(fitting::<u16>(&given("65536"), "65536").is_err());
    }

    #[test]
    fn a_single_word_stands_for_both_or_for_the_first() {
        let pair = |first, second| Pair { first, second };
        assert_eq!(Pair::shared("x"), pair(Some("x"), Some("x")));
        assert_eq!(Pair::separate("x"), pair(Some("x"), None));
        for read in [Pair::shared, Pair::separate] {
            assert_eq!(read("x,"), pair(Some("x"), None));
            assert_eq!(read(",y"), pair(None, Some("y")));
            assert_eq!(read("x,y"), pair(Some("x"), Some("y")));
        }
    }

    #[test]
    fn names_and_numbers_of_every_base_are_known() {
        let choices = [Choice::value("-Y", "TOS", "")];
        let line = options::read(&choices, ["-Y", "x"].map(Into::into).to_vec()).unwrap();
        let tos = |text| super::tos(&line.options[0], text);
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
