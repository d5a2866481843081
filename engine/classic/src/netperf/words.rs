//! Numbers and pairs as netperf's command line writes them.

use wire::Failure;

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
        for (text, place) in [(self.first, first), (self.second, second)] {
            if let Some(text) = text {
                *place = Some(fitting(given, text)?);
            }
        }
        Ok(())
    }
}

fn filled(text: &str) -> Option<&str> {
    (!text.is_empty()).then_some(text)
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
}
