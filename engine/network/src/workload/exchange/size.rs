//! Sizes of request and response as people write them: `64` for both, `"100/200"` for each.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use kit::Size;
use schemars::{json_schema, JsonSchema, Schema, SchemaGenerator};
use serde::de::{self, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::control::message::Exchange;

/// Sizes of a request and of the response to it. Read from one size, or from two with a slash
/// between; written alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExchangeSize {
    /// Of the request.
    pub request: Size,
    /// Of the response.
    pub response: Size,
}

impl ExchangeSize {
    /// Both of `size`.
    pub const fn both(size: Size) -> Self {
        Self {
            request: size,
            response: size,
        }
    }

    /// In bytes.
    pub const fn exchange(self) -> Exchange {
        Exchange {
            request: self.request.bytes(),
            response: self.response.bytes(),
        }
    }
}

impl FromStr for ExchangeSize {
    type Err = <Size as FromStr>::Err;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (request, response) = text.split_once('/').unwrap_or((text, text));
        Ok(Self {
            request: request.parse()?,
            response: response.parse()?,
        })
    }
}

impl fmt::Display for ExchangeSize {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        match self.request == self.response {
            true => self.request.fmt(out),
            false => write!(out, "{}/{}", self.request, self.response),
        }
    }
}

impl Serialize for ExchangeSize {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.request == self.response {
            true => self.request.serialize(serializer),
            false => {
                let [request, response] = [self.request, self.response].map(Size::bytes);
                serializer.collect_str(&format_args!("{request}/{response}"))
            }
        }
    }
}

impl<'de> Deserialize<'de> for ExchangeSize {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ExchangeVisitor)
    }
}

struct ExchangeVisitor;

impl Visitor<'_> for ExchangeVisitor {
    type Value = ExchangeSize;

    fn expecting(&self, out: &mut fmt::Formatter) -> fmt::Result {
        out.write_str("a size, or \"REQUEST/RESPONSE\" such as \"100/200\"")
    }

    fn visit_u64<E: de::Error>(self, bytes: u64) -> Result<ExchangeSize, E> {
        Ok(ExchangeSize::both(Size(bytes)))
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<ExchangeSize, E> {
        text.parse().map_err(E::custom)
    }
}

impl JsonSchema for ExchangeSize {
    fn schema_name() -> Cow<'static, str> {
        "Exchange".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "Bytes of request and response: one size for both, or two with a \
                            slash between.",
            "type": ["integer", "string"],
            "format": "exchange",
            "minimum": 1,
            "pattern": "^[0-9]+[kKmMgGtT]?(/[0-9]+[kKmMgGtT]?)?$",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_size_is_for_both_and_a_slash_separates_two() {
        let sizes: Vec<ExchangeSize> = serde_json::from_str(r#"[64, "1k", "100/2k"]"#).unwrap();
        let shown: Vec<_> = sizes.iter().map(ToString::to_string).collect();
        assert_eq!(shown, ["64", "1k", "100/2k"]);
        let text = serde_json::to_string(&sizes).unwrap();
        assert_eq!(text, r#"[64,1024,"100/2048"]"#);
        assert_eq!(
            serde_json::from_str::<Vec<ExchangeSize>>(&text).unwrap(),
            sizes
        );
    }

    #[test]
    fn what_is_no_size_is_said_to_be_none() {
        for text in ["", "/", "1/", "/1", "1/2/3", "1,2", "-1"] {
            let error = text.parse::<ExchangeSize>().unwrap_err().to_string();
            assert!(error.contains("is not a size"), "{error}");
        }
    }
}
