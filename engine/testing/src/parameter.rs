//! Values that a parameter cannot have. They follow from the schemas of the cards, so that a new
//! workload is covered by its line in the list.

use serde_json::{json, Value};
use wire::FailureKind;

use crate::Subject;

/// One parameter of a workload, with what its schema says.
pub struct Parameter<'a> {
    subject: &'a Subject<'a>,
    name: String,
    schema: Value,
}

impl<'a> Parameter<'a> {
    /// All parameters of all these workloads.
    pub fn of(subjects: &'a [Subject<'a>]) -> Vec<Self> {
        let of_one = |subject: &'a Subject<'a>| {
            let schema = &subject.card.parameters;
            let properties = schema["properties"].as_object().unwrap();
            properties.iter().map(move |(name, value)| Self {
                subject,
                name: name.clone(),
                schema: resolved(value, &schema["$defs"]),
            })
        };
        subjects.iter().flat_map(of_one).collect()
    }

    /// `value` is refused in one line that blames this parameter; the others are as in the smoke
    /// test.
    pub fn assert_refuses(&self, value: &Value) {
        let failure = self.subject.refusal(&json!({(self.name.as_str()): value}));
        let told = format!("{} = {value}: {failure:?}", self.name);
        assert_eq!(failure.kind, FailureKind::BadJob, "{told}");
        assert_eq!(failure.message.lines().count(), 1, "{told}");
        let blamed = failure.parameter.unwrap_or_default();
        assert!(blamed.starts_with(&self.name), "{told}");
    }

    /// What has no meaning is refused, except text where any text is a name.
    pub fn assert_refuses_nonsense(&self) {
        for value in [
            json!(""),
            json!("12Q"),
            json!("1e99"),
            json!(1e99),
            json!({"x": 1}),
        ] {
            if !self.is_free_text() || !value.is_string() {
                self.assert_refuses(&value);
            }
        }
    }

    /// A size or a number is neither negative nor a fraction.
    pub fn assert_refuses_beyond_limits(&self) {
        for value in [json!(-2), json!(1.5), json!("-1")] {
            self.assert_refuses(&value);
        }
    }

    /// Whether it is a size or a whole number, or may be one.
    pub fn is_amount(&self) -> bool {
        self.says("format", "size") || self.says("type", "integer")
    }

    /// Whether any text is a name.
    pub fn is_free_text(&self) -> bool {
        self.schema["type"] == "string" && self.schema.get("enum").is_none()
            || self.schema["items"]["type"] == "string"
    }

    /// Whether it is a list of values.
    pub fn is_list(&self) -> bool {
        self.schema["type"] == "array"
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
