//! Sizes as people write them: `512`, `"64k"`, `"1M"`, `"4G"`. Suffixes are binary.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use schemars::{json_schema, JsonSchema, Schema, SchemaGenerator};
use serde::de::{self, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

/// A number of bytes. Read from an integer or a string with a suffix, written as an integer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct Size(pub u64);

impl Size {
    /// The number of bytes.
    pub const fn bytes(self) -> u64 {
        self.0
    }
}

/// The text is not a size.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotASize(String);

impl fmt::Display for NotASize {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        write!(
            out,
            "\"{}\" is not a size; write bytes, or a whole number with k, M, G or T (\"64k\" is 65536)",
            self.0
        )
    }
}

impl std::error::Error for NotASize {}

impl FromStr for Size {
    type Err = NotASize;

    fn from_str(text: &str) -> Result<Self, NotASize> {
        let shift = match text.bytes().last() {
            Some(b'k' | b'K') => 10,
            Some(b'm' | b'M') => 20,
            Some(b'g' | b'G') => 30,
            Some(b't' | b'T') => 40,
            _ => 0,
        };
        let digits = if shift == 0 {
            text
        } else {
            &text[..text.len() - 1]
        };
        let is_plain = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
        is_plain
            .then(|| digits.parse::<u64>().ok())
            .flatten()
            .and_then(|number| number.checked_mul(1 << shift))
            .map(Size)
            .ok_or_else(|| NotASize(text.to_owned()))
    }
}

/// With the largest suffix that leaves a whole number: `65536` is shown as `64k`.
impl fmt::Display for Size {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        for (suffix, shift) in [("T", 40), ("G", 30), ("M", 20), ("k", 10)] {
            if self.0 > 0 && self.0.is_multiple_of(1 << shift) {
                return write!(out, "{}{suffix}", self.0 >> shift);
            }
        }
        write!(out, "{}", self.0)
    }
}

impl<'de> Deserialize<'de> for Size {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(SizeVisitor)
    }
}

struct SizeVisitor;

impl Visitor<'_> for SizeVisitor {
    type Value = Size;

    fn expecting(&self, out: &mut fmt::Formatter) -> fmt::Result {
        out.write_str("a size: bytes, or a string such as \"64k\" or \"4G\"")
    }

    fn visit_u64<E: de::Error>(self, bytes: u64) -> Result<Size, E> {
        Ok(Size(bytes))
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Size, E> {
        text.parse().map_err(E::custom)
    }
}

impl JsonSchema for Size {
    fn schema_name() -> Cow<'static, str> {
        "Size".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "Bytes, or a whole number with the binary suffix k, M, G or T.",
            "type": ["integer", "string"],
            "format": "size",
            "minimum": 0,
            "pattern": "^[0-9]+[kKmMgGtT]?$",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suffixes_are_binary() {
        for (text, bytes) in [
            ("512", 512),
            ("64k", 65_536),
            ("1M", 1 << 20),
            ("4G", 4 << 30),
            ("2T", 2 << 40),
        ] {
            assert_eq!(text.parse(), Ok(Size(bytes)));
            assert_eq!(Size(bytes).to_string(), text);
        }
        assert_eq!("3K".parse(), Ok(Size(3_072)));
        assert_eq!(Size(1_000).to_string(), "1000");
    }

    #[test]
    fn what_is_not_a_size_says_what_would_be() {
        for text in [
            "",
            "k",
            "1.5M",
            "10mb",
            "-4k",
            "+4k",
            "4 k",
            "20000000T",
            "4é",
        ] {
            let error = text.parse::<Size>().unwrap_err().to_string();
            assert!(error.contains("64k"), "{error}");
        }
    }

    #[test]
    fn json_takes_both_forms_and_gives_integers() {
        let sizes: Vec<Size> = serde_json::from_str(r#"[4096, "64k"]"#).unwrap();
        assert_eq!(serde_json::to_string(&sizes).unwrap(), "[4096,65536]");
        assert!(serde_json::from_str::<Size>("-1").is_err());
        assert!(serde_json::from_str::<Size>("1.5").is_err());
    }
}
