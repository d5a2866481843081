//! Parameters that cannot be: every workload of the list refuses them before it says a word to the
//! far end, and names the one that is to blame.
//!
//! What is tried follows from the schemas of the cards, so that a new workload is covered by its
//! line in the list.

mod common;

use common::{nowhere, smoke_with};
use network::workload::{Workload, ALL};
use serde_json::{json, Value};
use wire::{Failure, FailureKind};

/// One parameter of a workload, with what its schema says.
struct Parameter {
    workload: &'static dyn Workload,
    name: String,
    schema: Value,
}

impl Parameter {
    fn all() -> Vec<Self> {
        let of = |workload: &&'static dyn Workload| {
            let schema = workload.card().parameters;
            let properties = schema["properties"].as_object().unwrap().clone();
            let resolve = |value: &Value| resolved(value, &schema["$defs"]);
            let workload = *workload;
            properties
                .iter()
                .map(|(name, value)| Self {
                    workload,
                    name: name.clone(),
                    schema: resolve(value),
                })
                .collect::<Vec<_>>()
        };
        ALL.iter().flat_map(of).collect()
    }

    /// The failure that `value` leads to; the others are as in the smoke test.
    fn refusal(&self, value: &Value) -> Failure {
        let parameters = smoke_with(self.workload, json!({(self.name.as_str()): value}));
        let planned = self.workload.plan(&parameters, &nowhere());
        match planned {
            Err(failure) => failure,
            Ok(_) => panic!(
                "{} takes {} = {value}",
                self.workload.card().name,
                self.name
            ),
        }
    }

    fn assert_refuses(&self, value: &Value) {
        let failure = self.refusal(value);
        let told = format!("{} = {value}: {failure:?}", self.name);
        assert_eq!(failure.kind, FailureKind::BadJob, "{told}");
        assert_eq!(failure.message.lines().count(), 1, "{told}");
        let blamed = failure.parameter.unwrap_or_default();
        assert!(blamed.starts_with(&self.name), "{told}");
    }

    /// Whether the schema, or one of its alternatives, has `key` with this `value`.
    fn says(&self, key: &str, value: &str) -> bool {
        let alternatives = self.schema["anyOf"].as_array();
        let mut schemas = alternatives.into_iter().flatten().chain([&self.schema]);
        schemas.any(|schema| match &schema[key] {
            Value::String(text) => text == value,
            Value::Array(texts) => texts.iter().any(|text| text == value),
            _ => false,
        })
    }

    fn is_size(&self) -> bool {
        self.says("format", "size")
    }

    fn is_number(&self) -> bool {
        self.says("type", "integer") && !self.is_size()
    }
}

/// `schema` with what it refers to put in its place.
fn resolved(schema: &Value, definitions: &Value) -> Value {
    match schema {
        Value::Object(object) => match object.get("$ref").and_then(Value::as_str) {
            Some(reference) => {
                let name = reference.rsplit('/').next().unwrap();
                resolved(&definitions[name], definitions)
            }
            None => object
                .iter()
                .map(|(key, value)| (key.clone(), resolved(value, definitions)))
                .collect(),
        },
        Value::Array(array) => array
            .iter()
            .map(|value| resolved(value, definitions))
            .collect(),
        other => other.clone(),
    }
}

#[test]
fn no_parameter_takes_what_has_no_meaning() {
    for parameter in Parameter::all() {
        for value in [
            json!(""),
            json!("12Q"),
            json!("1e99"),
            json!(1e99),
            json!({"x": 1}),
        ] {
            parameter.assert_refuses(&value);
        }
    }
}

#[test]
fn sizes_and_numbers_have_limits() {
    let mut seen = 0;
    for parameter in Parameter::all() {
        if parameter.is_size() || parameter.is_number() {
            seen += 1;
            for value in [json!(-2), json!(1.5), json!("-1")] {
                parameter.assert_refuses(&value);
            }
        }
    }
    assert!(seen > 3 * ALL.len());
}

#[test]
fn what_means_nothing_to_a_workload_is_unknown_to_it() {
    for (name, foreign) in [
        ("udp_stream", "nodelay"),
        ("tcp_stream", "gso"),
        ("tcp_sendfile", "zerocopy"),
        ("unix_stream", "dscp"),
    ] {
        let workload = common::workload(name);
        let parameters = smoke_with(workload, json!({foreign: true}));
        let failure = workload.plan(&parameters, &nowhere()).err().unwrap();
        assert_eq!(failure.parameter.as_deref(), Some(foreign));
        assert!(
            failure.message.contains("is not a parameter"),
            "{failure:?}"
        );
    }
}

#[test]
fn what_does_not_go_together_is_refused() {
    for (name, changes, blamed) in [
        ("udp_stream", json!({"message": 65_508}), "message"),
        ("udp_stream", json!({"message": "32k", "gso": 2}), "gso"),
        (
            "udp_stream",
            json!({"flows": 2, "rate": 1e6, "near": {"threads": 1}}),
            "rate",
        ),
        (
            "udp_stream",
            json!({"near": {"congestion": "cubic"}}),
            "near.congestion",
        ),
        (
            "tcp_stream",
            json!({"far": {"cpus": [0], "numa_node": 0}}),
            "far.numa_node",
        ),
        (
            "unix_stream",
            json!({"far": {"busy_poll_us": 50}}),
            "far.busy_poll_us",
        ),
        ("tcp_stream", json!({"rate": 0.5}), "rate"),
        ("tcp_stream", json!({"seconds": 0}), "seconds"),
        ("tcp_sendfile", json!({"file": "/etc"}), "file"),
    ] {
        let workload = common::workload(name);
        let parameters = smoke_with(workload, changes);
        let failure = workload.plan(&parameters, &nowhere()).err().unwrap();
        assert_eq!(failure.kind, FailureKind::BadJob, "{failure:?}");
        assert_eq!(failure.parameter.as_deref(), Some(blamed), "{failure:?}");
    }
}
