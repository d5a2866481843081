//! A range of file sizes, as a person writes it: `"500..10000"`, `"4k..1M"`, or one size.

use std::borrow::Cow;
use std::fmt;

use kit::Size;
use schemars::{json_schema, JsonSchema, Schema, SchemaGenerator};
use serde::de::{self, Deserializer, Visitor};
use serde::{Deserialize, Serialize, Serializer};

/// The largest size that a file may have, in bytes: 1 GiB. A buffer of that length is held.
pub const LIMIT_BYTES: u32 = 1 << 30;

/// Smallest and largest size of a file, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SizeRange {
    /// At least 1.
    pub smallest: u32,
    /// At least `smallest`, at most [`LIMIT_BYTES`].
    pub largest: u32,
}

impl SizeRange {
    fn new(smallest: u64, largest: u64) -> Result<Self, String> {
        if smallest == 0 {
            return Err("the smallest size is 1 byte".to_owned());
        }
        if smallest > largest {
            return Err(format!(
                "{smallest} is larger than {largest}; write {largest}..{smallest}"
            ));
        }
        if largest > u64::from(LIMIT_BYTES) {
            return Err(format!(
                "{largest} bytes is too large; at most {LIMIT_BYTES} (1G)"
            ));
        }
        Ok(Self {
            smallest: smallest as u32,
            largest: largest as u32,
        })
    }

    fn parse(text: &str) -> Result<Self, String> {
        let (smallest, largest) = text.split_once("..").unwrap_or((text, text));
        let bytes = |size: &str| {
            size.parse()
                .map(Size::bytes)
                .map_err(|error| error.to_string())
        };
        Self::new(bytes(smallest)?, bytes(largest)?)
    }
}

impl fmt::Display for SizeRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}..{}", self.smallest, self.largest)
    }
}

impl Serialize for SizeRange {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for SizeRange {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Written)
    }
}

struct Written;

impl Visitor<'_> for Written {
    type Value = SizeRange;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "sizes such as \"500..10000\" or \"4k..1M\", or one size such as 4096 or \"4k\"",
        )
    }

    fn visit_u64<E: de::Error>(self, bytes: u64) -> Result<SizeRange, E> {
        SizeRange::new(bytes, bytes).map_err(E::custom)
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<SizeRange, E> {
        SizeRange::parse(text).map_err(E::custom)
    }
}

impl JsonSchema for SizeRange {
    fn schema_name() -> Cow<'static, str> {
        "SizeRange".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": ["string", "integer"],
            "format": "size-range",
            "minimum": 1,
            "maximum": LIMIT_BYTES,
            "examples": ["500..10000", "4k..1M", 4096],
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{json, Value};

    fn read(value: Value) -> Result<(u32, u32), String> {
        serde_json::from_value::<SizeRange>(value)
            .map(|range| (range.smallest, range.largest))
            .map_err(|error| error.to_string())
    }

    #[test]
    fn a_range_a_size_and_a_number_are_read() {
        assert_eq!(read(json!("500..10000")), Ok((500, 10000)));
        assert_eq!(read(json!("4k..1M")), Ok((4096, 1 << 20)));
        assert_eq!(read(json!("64k")), Ok((65536, 65536)));
        assert_eq!(read(json!(512)), Ok((512, 512)));
    }

    #[test]
    fn what_is_written_is_read_again() {
        let range = SizeRange {
            smallest: 500,
            largest: 10000,
        };
        let written = serde_json::to_value(range).expect("a string");
        assert_eq!(written, json!("500..10000"));
        assert_eq!(read(written), Ok((500, 10000)));
    }

    #[test]
    fn a_bad_range_is_refused_with_what_would_be_right() {
        for (value, expected) in [
            (json!(0), "the smallest size is 1 byte"),
            (json!("10..5"), "write 5..10"),
            (json!("1..2G"), "at most 1073741824 (1G)"),
            (json!(-5), "\"500..10000\""),
            (json!([1, 2]), "\"500..10000\""),
        ] {
            let message = read(value).expect_err("refused");
            assert!(message.contains(expected), "{message}");
        }
        assert!(read(json!("5..")).is_err());
        assert!(read(json!("a..b")).is_err());
    }
}
