//! Parameters that cannot be: every workload of the list refuses them before it does anything,
//! and names the one that is to blame.
//!
//! What is tried follows from the schemas of the cards, so that a new workload is covered by its
//! line in the list.

use std::fs;

use serde_json::{json, Map, Value};
use storage::workload::{Workload, ALL};
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
        let directory = tempfile::tempdir().unwrap();
        let mut parameters: Map<String, Value> =
            self.workload.card().smoke.as_object().unwrap().clone();
        parameters.insert(self.name.clone(), value.clone());
        let planned = self.workload.plan(&parameters, directory.path());
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
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
            if !is_free_text(&parameter) || !value.is_string() {
                parameter.assert_refuses(&value);
            }
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
    assert!(seen > 10 * ALL.len() / 2);
}

/// Any text is a name, and names are checked below.
fn is_free_text(parameter: &Parameter) -> bool {
    parameter.schema["type"] == "string" && parameter.schema.get("enum").is_none()
        || parameter.schema["items"]["type"] == "string"
}

#[test]
fn names_stay_names_in_the_target() {
    let long = "x".repeat(256);
    for parameter in Parameter::all()
        .iter()
        .filter(|parameter| is_free_text(parameter))
    {
        let is_list = parameter.schema["type"] == "array";
        for name in ["", ".", "..", "../up", "/etc", "nul\0", &long] {
            parameter.assert_refuses(&if is_list { json!([name]) } else { json!(name) });
        }
    }
}

/// The parameter of `workload` that says how large a transfer is, where files have many.
fn transfer(workload: &dyn Workload) -> Option<&'static str> {
    let schema = workload.card().parameters;
    let is_there = |name: &&str| schema["properties"].get(*name).is_some();
    let has_file = is_there(&"file");
    ["record", "block"]
        .into_iter()
        .find(|name| has_file && is_there(name))
}

#[test]
fn a_transfer_larger_than_the_file_is_refused() {
    for workload in ALL {
        let Some(name) = transfer(*workload) else {
            continue;
        };
        let mut parameters = Map::new();
        parameters.insert("file".to_owned(), json!("4k"));
        parameters.insert(name.to_owned(), json!("8k"));
        let directory = tempfile::tempdir().unwrap();
        let failure = workload.plan(&parameters, directory.path()).err().unwrap();
        assert_eq!(failure.kind, FailureKind::BadJob, "{failure:?}");
        let blamed = failure.parameter.as_deref().unwrap();
        assert!(["file", name].contains(&blamed), "{failure:?}");
    }
}

#[test]
fn direct_transfers_are_whole_sectors() {
    for workload in ALL {
        let Some(name) = transfer(*workload) else {
            continue;
        };
        let mut parameters = Map::new();
        parameters.insert("file".to_owned(), json!("64k"));
        parameters.insert("access".to_owned(), json!("direct"));
        parameters.insert(name.to_owned(), json!(1_000));
        let directory = tempfile::tempdir().unwrap();
        let failure = workload.plan(&parameters, directory.path()).err().unwrap();
        assert_eq!(failure.parameter.as_deref(), Some(name), "{failure:?}");
    }
}
