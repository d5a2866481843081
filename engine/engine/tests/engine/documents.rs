//! Subcommands that print a document.

use crate::common::run;
use serde_json::{json, Value};
use wire::{Catalogue, Floor};

#[test]
fn describe_gives_the_catalogue() {
    let output = run(&["describe"], &json!(null));
    assert!(output.status.success());
    let catalogue: Catalogue = serde_json::from_slice(&output.stdout).unwrap();
    let backends: Vec<_> = catalogue.backends.iter().map(|b| b.name.as_str()).collect();
    for backend in ["null", "sync", "stdio", "libaio"] {
        assert!(backends.contains(&backend), "{backends:?}");
    }
    let named = |name: &str| catalogue.workloads.iter().find(|w| w.name == name).unwrap();
    assert_eq!(named("stream").metrics.len(), 20);
    assert_eq!(named("stream").grid, ["file", "block", "depth", "threads"]);
    for card in &catalogue.workloads {
        assert_documented(&card.parameters);
    }
}

/// Every parameter has a description, since that is all the help there is, and a default.
fn assert_documented(schema: &Value) {
    let properties = schema["properties"].as_object().unwrap();
    assert!(!properties.is_empty());
    for (name, property) in properties {
        assert!(property["description"].is_string(), "{name}");
        assert!(property.get("default").is_some(), "{name}");
    }
}

#[test]
fn schema_is_the_one_of_the_wire() {
    let output = run(&["schema"], &json!(null));
    let schema: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(
        schema["$schema"],
        "https://json-schema.org/draft/2020-12/schema"
    );
    assert_eq!(output.stdout, wire::SCHEMA.as_bytes());
}

#[test]
fn floor_is_measured() {
    let output = run(&["floor"], &json!(null));
    let floor: Floor = serde_json::from_slice(&output.stdout).unwrap();
    assert!(floor.clock_ns > 0.0 && floor.clock_step_ns > 0.0 && floor.operation_ns > 0.0);
}

#[test]
fn an_unknown_subcommand_is_a_usage_error() {
    let output = run(&["descibe"], &json!(null));
    assert_eq!(output.status.code(), Some(2));
    assert!(output.stdout.is_empty());
    let words = String::from_utf8_lossy(&output.stderr);
    assert!(words.contains("describe"), "{words}");
}
