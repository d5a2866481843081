//! The file that everybody reads is the one that the types give.

#[test]
fn the_schema_is_that_of_the_types() {
    let text = serde_json::to_string_pretty(&wire::schema()).unwrap() + "\n";
    assert!(wire::SCHEMA == text, "stale; run make schema");
}
