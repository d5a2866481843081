//! Limits: every number that a job may contain has a range, and an error says which.

use std::fmt::Display;
use std::ops::RangeInclusive;

use wire::Failure;

use crate::failure::bad_parameter;

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
    use crate::Size;

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
