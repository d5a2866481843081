//! Limits: every number that a job may contain has a range, and an error says which.

use std::fmt::Display;
use std::ops::RangeInclusive;

use wire::Failure;

use crate::failure::bad_parameter;
use crate::{List, Size};

/// A job is a few hundred bytes of JSON, and what a program is expected to print, of which 4 MiB are
/// kept; more than this is a mistake.
pub const JOB_BYTES: u64 = 16 << 20;

/// No file system of Linux takes longer names (NAME_MAX).
pub const NAME_BYTES: usize = 255;

/// What a parameter may be: from the least to the most, or more than that and up to the most.
#[derive(Debug, Clone)]
pub struct Limits<T> {
    least: T,
    is_open: bool,
    most: T,
}

impl<T> Limits<T> {
    /// More than `floor`, and up to `most`.
    pub fn above(floor: T, most: T) -> Self {
        Self {
            least: floor,
            is_open: true,
            most,
        }
    }
}

impl<T> From<RangeInclusive<T>> for Limits<T> {
    fn from(range: RangeInclusive<T>) -> Self {
        let (least, most) = range.into_inner();
        Self {
            least,
            is_open: false,
            most,
        }
    }
}

/// `value`, if it lies in `limits`.
///
/// # Errors
/// `BadJob`, naming the parameter and the range.
pub fn within<T: PartialOrd + Display + Copy>(
    parameter: &str,
    value: T,
    limits: impl Into<Limits<T>>,
) -> Result<T, Failure> {
    let Limits {
        least,
        is_open,
        most,
    } = limits.into();
    if (value > least || value == least && !is_open) && value <= most {
        return Ok(value);
    }
    let range = match is_open {
        true => format!("more than {least} and up to {most}"),
        false => format!("{least} to {most}"),
    };
    Err(bad_parameter(
        parameter,
        format!("parameter \"{parameter}\": {value} is out of range; use {range}"),
    ))
}

/// What has limits of `T`: a number, each value of a list, one that may be left out, or the length
/// of a list that is open.
pub trait Limited<T> {
    /// As [`within`].
    ///
    /// # Errors
    /// `BadJob`, naming the parameter and the range.
    fn check(&self, parameter: &str, limits: impl Into<Limits<T>>) -> Result<(), Failure>;
}

macro_rules! limited {
    ($($number:ty),*) => {
        $(impl Limited<Self> for $number {
            fn check(
                &self,
                parameter: &str,
                limits: impl Into<Limits<Self>>,
            ) -> Result<(), Failure> {
                within(parameter, *self, limits).map(drop)
            }
        })*
    };
}
limited!(u8, u32, u64, usize, f64, Size);

impl<T: Limited<T> + Clone> Limited<T> for List<T> {
    fn check(&self, parameter: &str, limits: impl Into<Limits<T>>) -> Result<(), Failure> {
        let limits = limits.into();
        self.iter()
            .try_for_each(|value| value.check(parameter, limits.clone()))
    }
}

impl<T: Limited<T>> Limited<T> for Option<T> {
    fn check(&self, parameter: &str, limits: impl Into<Limits<T>>) -> Result<(), Failure> {
        match self {
            Some(value) => value.check(parameter, limits),
            None => Ok(()),
        }
    }
}

impl<T> Limited<usize> for Vec<T> {
    fn check(&self, parameter: &str, limits: impl Into<Limits<usize>>) -> Result<(), Failure> {
        self.len().check(parameter, limits)
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
    fn a_lower_limit_may_be_open() {
        let positive = || Limits::above(0.0, 10.0);
        assert!(Some(10.0).check("theta", positive()).is_ok());
        assert!(None::<f64>.check("theta", positive()).is_ok());
        for wrong in [0.0, -1.0, 10.1, f64::NAN] {
            let failure = wrong.check("theta", positive()).unwrap_err();
            let wanted = "is out of range; use more than 0 and up to 10";
            assert!(failure.message.ends_with(wanted), "{}", failure.message);
        }
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
