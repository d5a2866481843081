//! How much of what is written a file system could save: the shares that a parameter asks for.

use std::borrow::Cow;
use std::fmt;
use std::io;
use std::marker::PhantomData;

use schemars::{json_schema, JsonSchema, Schema, SchemaGenerator};
use serde::de::value::MapAccessDeserializer;
use serde::de::{self, IntoDeserializer, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use wire::Failure;

use super::{Content, Stamped};
use crate::failure::no_memory;
use crate::EventSink;

/// Shares of what is written, 0 to 1.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Shares {
    /// Share of each 4 KiB block that is zeroes; the rest is random.
    #[schemars(range(min = 0, max = 1))]
    pub compressible: f64,
    /// Share of the 4 KiB blocks that occur before, in this file or another one.
    #[schemars(range(min = 0, max = 1))]
    pub dedupable: f64,
}

impl Shares {
    /// The name of the share that is none, of the two.
    fn flaw(&self) -> Option<&'static str> {
        let shares = [
            ("compressible", self.compressible),
            ("dedupable", self.dedupable),
        ];
        let flawed = shares
            .into_iter()
            .find(|(_, share)| !(0.0..=1.0).contains(share));
        flawed.map(|(name, _)| name)
    }
}

/// What is written: one of the contents that a workload has names for, or shares.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Filling<F> {
    /// By its name.
    Named(F),
    /// With so much to compress and to deduplicate.
    Shares(Shares),
}

impl<F: Copy> Filling<F> {
    /// The name, where there is one.
    pub fn named(self) -> Option<F> {
        match self {
            Self::Named(fill) => Some(fill),
            Self::Shares(_) => None,
        }
    }

    /// What each thread has in memory to write records of `record_bytes` from, beside what all
    /// share.
    pub fn thread_bytes(self, record_bytes: u64) -> u64 {
        match self {
            Self::Named(_) => 0,
            Self::Shares(_) => Stamped::memory_bytes(record_bytes),
        }
    }

    /// The content of records of `record_bytes`, those with a name made by `named`. Shares are
    /// measured in a sample of it, and what was found goes to the event sink.
    ///
    /// # Errors
    /// `HostLacks` memory; `Verification` when the shares are not what they should be.
    pub fn content(
        self,
        record_bytes: usize,
        event_sink: &mut EventSink,
        named: impl FnOnce(F) -> io::Result<Content>,
    ) -> Result<Content, Failure> {
        match self {
            Self::Named(fill) => named(fill).map_err(no_memory),
            Self::Shares(shares) => Content::checked(record_bytes, shares, event_sink),
        }
    }
}

impl<'de, F: Deserialize<'de>> Deserialize<'de> for Filling<F> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(FillingVisitor(PhantomData))
    }
}

struct FillingVisitor<F>(PhantomData<F>);

impl<'de, F: Deserialize<'de>> Visitor<'de> for FillingVisitor<F> {
    type Value = Filling<F>;

    fn expecting(&self, out: &mut fmt::Formatter) -> fmt::Result {
        out.write_str("a name, or shares as in {\"compressible\": 0.5, \"dedupable\": 0.2}")
    }

    fn visit_str<E: de::Error>(self, name: &str) -> Result<Filling<F>, E> {
        F::deserialize(name.into_deserializer()).map(Filling::Named)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Filling<F>, A::Error> {
        let shares = Shares::deserialize(MapAccessDeserializer::new(map))?;
        match shares.flaw() {
            Some(name) => Err(de::Error::custom(format_args!(
                "{name} is a share; use 0 to 1"
            ))),
            None => Ok(Filling::Shares(shares)),
        }
    }
}

impl<F: JsonSchema> JsonSchema for Filling<F> {
    fn schema_name() -> Cow<'static, str> {
        format!("Filling_of_{}", F::schema_name()).into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A name, or shares of what is written.",
            "anyOf": [generator.subschema_for::<F>(), generator.subschema_for::<Shares>()],
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    enum Fill {
        Zeroes,
        Random,
    }

    fn read(json: &str) -> Result<Filling<Fill>, String> {
        serde_json::from_str(json).map_err(|error| error.to_string())
    }

    #[test]
    fn a_name_or_shares() {
        assert_eq!(read(r#""random""#), Ok(Filling::Named(Fill::Random)));
        let half = Shares {
            compressible: 0.5,
            dedupable: 0.0,
        };
        assert_eq!(read(r#"{"compressible": 0.5}"#), Ok(Filling::Shares(half)));
        for filling in [r#""zeroes""#, r#"{"compressible":0.5,"dedupable":0.25}"#] {
            let read = read(filling).unwrap();
            assert_eq!(serde_json::to_string(&read).unwrap(), filling);
        }
    }

    #[test]
    fn refusals_say_what_would_be_right() {
        for (json, right) in [
            (r#""letters""#, "expected `zeroes` or `random`"),
            ("1", "a name, or shares"),
            (r#"{"dedupable": 1.5}"#, "dedupable is a share; use 0 to 1"),
            (r#"{"compressable": 1}"#, "expected `compressible`"),
        ] {
            let message = read(json).unwrap_err();
            assert!(message.contains(right), "{message}");
        }
    }
}
