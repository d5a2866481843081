//! Ranges of ports as people write them: `"20000-29999"`.

use std::borrow::Cow;
use std::fmt;
use std::ops::RangeInclusive;
use std::str::FromStr;

use schemars::{json_schema, JsonSchema, Schema, SchemaGenerator};
use serde::{de, Deserialize, Deserializer, Serialize, Serializer};

/// Ports from the first to the last.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ports(pub RangeInclusive<u16>);

impl FromStr for Ports {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("\"{text}\" is no range of ports; write \"20000-29999\"");
        let (first, last) = text.split_once('-').ok_or_else(wrong)?;
        let port = |text: &str| text.parse().map_err(|_| wrong());
        let (first, last) = (port(first)?, port(last)?);
        match first > 0 && first <= last {
            true => Ok(Self(first..=last)),
            false => Err(wrong()),
        }
    }
}

impl fmt::Display for Ports {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        write!(out, "{}-{}", self.0.start(), self.0.end())
    }
}

impl Serialize for Ports {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Ports {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(de::Error::custom)
    }
}

impl JsonSchema for Ports {
    fn schema_name() -> Cow<'static, str> {
        "Ports".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "The first and the last of a range of ports, with a hyphen between.",
            "type": "string",
            "pattern": "^[0-9]+-[0-9]+$",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_has_a_first_and_a_last_port() {
        for text in ["1-1", "20000-29999"] {
            assert_eq!(text.parse::<Ports>().unwrap().to_string(), text);
        }
        for text in ["", "1", "-", "0-5", "6-5", "1-65536", "a-b", "1-2-3"] {
            let error = text.parse::<Ports>().unwrap_err();
            assert!(error.contains("20000-29999"), "{error}");
        }
    }
}
