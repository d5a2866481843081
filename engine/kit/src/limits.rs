//! Limits: every number that a job may contain has a range, and an error says which.

use std::fmt::Display;
use std::ops::RangeInclusive;

use wire::Failure;

use crate::failure::bad_parameter;

/// A job is a few hundred bytes of JSON; more than this is a mistake.
pub const JOB_BYTES: u64 = 1 << 20;

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
}
