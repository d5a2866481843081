//! A choice between two operations, in tenths.

use std::borrow::Cow;
use std::fmt;

use schemars::{json_schema, JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};

/// How often the first of two operations is chosen. Written as an integer from -1 to 10.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "i64", into = "i64")]
pub enum Bias {
    /// Neither of the two is done; written as -1.
    Off,
    /// So many times out of ten.
    OutOfTen(u32),
}

impl TryFrom<i64> for Bias {
    type Error = String;

    fn try_from(tenths: i64) -> Result<Self, String> {
        match tenths {
            -1 => Ok(Self::Off),
            0..=10 => Ok(Self::OutOfTen(tenths as u32)),
            _ => Err(format!(
                "{tenths} is not a bias; 0 to 10 times out of ten, or -1 for off"
            )),
        }
    }
}

impl From<Bias> for i64 {
    fn from(bias: Bias) -> i64 {
        match bias {
            Bias::Off => -1,
            Bias::OutOfTen(tenths) => tenths.into(),
        }
    }
}

impl fmt::Display for Bias {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        i64::from(*self).fmt(out)
    }
}

impl JsonSchema for Bias {
    fn schema_name() -> Cow<'static, str> {
        "Bias".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "integer", "minimum": -1, "maximum": 10 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tenths_and_off_are_read_and_nothing_else() {
        assert_eq!(Bias::try_from(-1), Ok(Bias::Off));
        assert_eq!(Bias::try_from(0), Ok(Bias::OutOfTen(0)));
        assert_eq!(Bias::try_from(10), Ok(Bias::OutOfTen(10)));
        for tenths in [-2, 11] {
            assert!(Bias::try_from(tenths).is_err());
        }
        for tenths in -1..=10 {
            assert_eq!(Bias::try_from(tenths).map(i64::from), Ok(tenths));
        }
    }
}
