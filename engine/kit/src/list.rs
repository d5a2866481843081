//! Lists as people write them: one value, or several in brackets.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;
use std::ops::Deref;

use schemars::{json_schema, JsonSchema, Schema, SchemaGenerator};
use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{self, IntoDeserializer, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

/// One or more different values. Read from a single value or an array, written as an array.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct List<T>(Vec<T>);

impl<T> Deref for List<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.0
    }
}

impl<T, const N: usize> From<[T; N]> for List<T> {
    fn from(values: [T; N]) -> Self {
        const { assert!(N > 0, "a list has at least one value") };
        Self(values.into())
    }
}

impl<T> List<T> {
    /// A list of `values`, which are different; `None` when there are none.
    pub fn of(values: Vec<T>) -> Option<Self> {
        (!values.is_empty()).then_some(Self(values))
    }

    /// The same values without those that `keep` rejects; `None` when it rejects all.
    pub fn filtered(self, keep: impl FnMut(&T) -> bool) -> Option<Self> {
        let kept: Vec<T> = self.0.into_iter().filter(keep).collect();
        (!kept.is_empty()).then_some(Self(kept))
    }

    /// The same values in ascending order.
    pub fn sorted(mut self) -> Self
    where
        T: Ord,
    {
        self.0.sort();
        self
    }
}

impl<'de, T: Deserialize<'de> + PartialEq> Deserialize<'de> for List<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ListVisitor(PhantomData))
    }
}

struct ListVisitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de> + PartialEq> Visitor<'de> for ListVisitor<T> {
    type Value = List<T>;

    fn expecting(&self, out: &mut fmt::Formatter) -> fmt::Result {
        out.write_str("one value, or a list of them")
    }

    fn visit_u64<E: de::Error>(self, value: u64) -> Result<List<T>, E> {
        one(value)
    }

    fn visit_i64<E: de::Error>(self, value: i64) -> Result<List<T>, E> {
        one(value)
    }

    fn visit_str<E: de::Error>(self, value: &str) -> Result<List<T>, E> {
        one(value)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<List<T>, A::Error> {
        T::deserialize(MapAccessDeserializer::new(map)).map(|value| List(vec![value]))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<List<T>, A::Error> {
        let values = Vec::<T>::deserialize(SeqAccessDeserializer::new(seq))?;
        if values.is_empty() {
            return Err(de::Error::custom(
                "the list is empty; write at least one value",
            ));
        }
        let repeated = (1..values.len()).find(|&at| values[..at].contains(&values[at]));
        match repeated {
            Some(at) => Err(de::Error::custom(format_args!(
                "value {} of the list was there before; write each once",
                at + 1
            ))),
            None => Ok(List(values)),
        }
    }
}

fn one<'de, T: Deserialize<'de>, V: IntoDeserializer<'de, E>, E: de::Error>(
    value: V,
) -> Result<List<T>, E> {
    T::deserialize(value.into_deserializer()).map(|value| List(vec![value]))
}

impl<T: JsonSchema> JsonSchema for List<T> {
    fn schema_name() -> Cow<'static, str> {
        format!("List_of_{}", T::schema_name()).into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let item = generator.subschema_for::<T>();
        json_schema!({
            "description": "One value, or a list of different ones.",
            "anyOf": [
                item,
                {"type": "array", "items": item, "minItems": 1, "uniqueItems": true},
            ],
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Size;

    fn read(json: &str) -> Result<List<Size>, String> {
        serde_json::from_str(json).map_err(|error| error.to_string())
    }

    #[test]
    fn one_value_is_a_list_of_one() {
        assert_eq!(read("4096"), Ok(List::from([Size(4096)])));
        assert_eq!(read(r#""4k""#), read("[4096]"));
        assert_eq!(
            read(r#"["64k", 4096]"#),
            Ok(List::from([Size(65_536), Size(4096)]))
        );
    }

    #[test]
    fn empty_lists_and_repetitions_are_errors() {
        assert!(read("[]").unwrap_err().contains("at least one"));
        assert!(read(r#"[1024, 2048, "1k"]"#)
            .unwrap_err()
            .contains("value 3"));
        assert!(read("true").unwrap_err().contains("one value, or a list"));
    }
}
