//! Limits: every number that a job may contain has a range, and an error says which.

use std::fmt::Display;
use std::ops::RangeInclusive;

use wire::Failure;

use crate::failure::bad_parameter;
use crate::{List, Size};

/// A job is a few hundred bytes of JSON; more than this is a mistake.
pub const JOB_BYTES: u64 = 1 << 20;

/// No file system of Linux takes longer names (NAME_MAX).
pub const NAME_BYTES: usize = 255;

/// `value`, if it lies in `range`.
///
/// # Errors
/// `BadJob`, naming the parameter and the range.
pub fn within<T: PartialOrd + Display + Copy>(
    parameter: &str,
    value: T,
    range: RangeInclusive<T>,
) -> Result<T, Failure> {
    if range.contains(&value) {
        return Ok(value);
    }
    Err(bad_parameter(
        parameter,
        format!(
            "parameter \"{parameter}\": {value} is out of range; use {} to {}",
            range.start(),
            range.end()
        ),
    ))
}

/// What has a range of `T`: a number, each value of a list, or the length of one that is open.
pub trait Limited<T> {
    /// As [`within`].
    ///
    /// # Errors
    /// `BadJob`, naming the parameter and the range.
    fn check(&self, parameter: &str, range: RangeInclusive<T>) -> Result<(), Failure>;
}

macro_rules! limited {
    ($($number:ty),*) => {
        $(impl Limited<Self> for $number {
            fn check(&self, parameter: &str, range: RangeInclusive<Self>) -> Result<(), Failure> {
                within(parameter, *self, range).map(drop)
            }
        })*
    };
}
limited!(u32, u64, usize, f64, Size);

impl<T: Limited<T> + Clone> Limited<T> for List<T> {
    fn check(&self, parameter: &str, range: RangeInclusive<T>) -> Result<(), Failure> {
        self.iter()
            .try_for_each(|value| value.check(parameter, range.clone()))
    }
}

impl<T> Limited<usize> for Vec<T> {
    fn check(&self, parameter: &str, range: RangeInclusive<usize>) -> Result<(), Failure> {
        self.len().check(parameter, range)
    }
}

/// `name`, if a file in the target directory can be called so: no path that leads elsewhere, and
/// no longer than file systems take.
///
/// # Errors
/// `BadJob`, naming the parameter.
pub fn file_name<'a>(parameter: &str, name: &'a str) -> Result<&'a str, Failure> {
    let is_path = matches!(name, "" | "." | "..") || name.contains(['/', '\0']);
    if !is_path && name.len() <= NAME_BYTES {
        return Ok(name);
    }
    Err(bad_parameter(
        parameter,
        format!(
            "parameter \"{parameter}\": {name:?} cannot be a name in the target directory; \
             use 1 to {NAME_BYTES} bytes without \"/\""
        ),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_out_of_range_is_told_the_range() {
        let range = Size(512)..=Size(16 << 20);
        assert!(within("record", Size(4096), range.clone()).is_ok());
        let failure = within("record", Size(100), range).unwrap_err();
        assert_eq!(
            failure.message,
            "parameter \"record\": 100 is out of range; use 512 to 16M"
        );
    }

    #[test]
    fn a_name_is_no_path_and_not_too_long() {
        assert_eq!(file_name("name", "..x é").unwrap(), "..x é");
        let long = "x".repeat(256);
        for name in ["", ".", "..", "a/b", "nul\0", &long] {
            let failure = file_name("name", name).unwrap_err();
            assert_eq!(failure.parameter.as_deref(), Some("name"), "{name}");
        }
    }
}
