//! The hash that tells whether two trials do the same work.

use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

/// SHA-256, in hex, over the canonical JSON of workload and effective parameters.
pub fn of_work(workload: &str, effective: &Map<String, Value>) -> String {
    let work = Value::Array(vec![workload.into(), canonical(effective)]);
    Sha256::digest(work.to_string())
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

/// The same object with its keys in alphabetical order at every depth; serde_json prints no
/// blanks, so that equal values give equal text.
fn canonical(object: &Map<String, Value>) -> Value {
    let mut entries: Vec<_> = object.iter().collect();
    entries.sort_by_key(|(key, _)| *key);
    entries
        .into_iter()
        .map(|(key, value)| (key.clone(), canonical_value(value)))
        .collect()
}

fn canonical_value(value: &Value) -> Value {
    match value {
        Value::Object(object) => canonical(object),
        Value::Array(values) => values.iter().map(canonical_value).collect(),
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn hash(workload: &str, effective: Value) -> String {
        of_work(workload, effective.as_object().unwrap())
    }

    #[test]
    fn the_order_of_keys_does_not_matter_and_everything_else_does() {
        let one = hash("w", json!({"a": 1, "b": [{"c": 2, "d": 3}]}));
        assert_eq!(one, hash("w", json!({"b": [{"d": 3, "c": 2}], "a": 1})));
        assert_ne!(one, hash("v", json!({"a": 1, "b": [{"c": 2, "d": 3}]})));
        assert_ne!(one, hash("w", json!({"a": 1, "b": [{"c": 2, "d": 4}]})));
    }

    #[test]
    fn it_is_plain_sha256() {
        // printf '["w",{}]' | sha256sum
        let expected = "7d574466311e5195784f6e4608fb9cdfe77852d5144034a0a0ed1e8a2b46e3b9";
        assert_eq!(hash("w", json!({})), expected);
    }
}
