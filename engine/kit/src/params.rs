//! Parameters of a workload: from the job's JSON object to a Rust type, with errors that name
//! the parameter and what would be right.

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::Serialize;
use serde_json::{Map, Value};
use wire::Failure;

use crate::failure::bad_parameter;

/// Likeness (Jaro-Winkler, 0 … 1) from which a known name is offered for an unknown one.
const LIKENESS: f64 = 0.8;

/// Reads `parameters` as a `P`; what is left out takes the default.
///
/// # Errors
/// `BadJob`, naming the parameter.
pub fn parse<P: DeserializeOwned + JsonSchema>(
    parameters: &Map<String, Value>,
) -> Result<P, Failure> {
    let object = Value::Object(parameters.clone());
    read_value(&object).map_err(|(path, wrong)| {
        // Names come first. Deriving them takes longer than a small run, so it is left to failures.
        if let Err(unknown) = known(parameters, &names::<P>()) {
            return unknown;
        }
        let what = not_a_number::<P>(&path, parameters.get(&path)).unwrap_or(wrong);
        bad_parameter(&path, format!("parameter \"{path}\": {what}"))
    })
}

/// Reads a value as a `T`.
///
/// # Errors
/// The path of what is wrong, as in `a.b[1]` or `.` for the whole, and what is wrong with it.
pub fn read_value<T: DeserializeOwned>(value: &Value) -> Result<T, (String, String)> {
    let read = |value: &Value| T::deserialize(value).map_err(|error| error.to_string());
    read(value).map_err(|wrong| {
        let path = path_to(value, &|part| read(part).err().as_ref() == Some(&wrong));
        let path = path.trim_start_matches('.');
        (if path.is_empty() { "." } else { path }.to_owned(), wrong)
    })
}

/// The path to what is wrong with a value. Its parts are read in order up to the wrong one, so that
/// this is the last of the fewest with which it is `wrong` alike. (Tracking the path while a value
/// is read would compile all that reads values a second time.)
fn path_to(value: &Value, wrong: &dyn Fn(&Value) -> bool) -> String {
    let (steps, parts): (Vec<_>, Vec<_>) = match value {
        Value::Array(list) => (0..).map(|at| format!("[{at}]")).zip(list).unzip(),
        Value::Object(table) => table
            .iter()
            .map(|(name, part)| (format!(".{name}"), part))
            .unzip(),
        _ => return String::new(),
    };
    let counts = Vec::from_iter(0..=parts.len());
    let fewest = counts.partition_point(|&count| !wrong(&first_parts(value, count)));
    let Some(last) = fewest.checked_sub(1).filter(|&last| last < parts.len()) else {
        return String::new();
    };
    let inside = path_to(parts[last], &|part| {
        let mut parts = first_parts(value, fewest);
        match &mut parts {
            Value::Object(table) => table.values_mut().last().map(|old| *old = part.clone()),
            list => list.get_mut(last).map(|old| *old = part.clone()),
        };
        wrong(&parts)
    });
    format!("{}{inside}", steps[last])
}

/// A list or a table with so many of its parts.
fn first_parts(value: &Value, count: usize) -> Value {
    match value {
        Value::Object(table) => {
            let parts = table.iter().take(count);
            Value::Object(
                parts
                    .map(|(name, part)| (name.clone(), part.clone()))
                    .collect(),
            )
        }
        list => list
            .as_array()
            .map_or(Value::Null, |list| list[..count].into()),
    }
}

/// What to say of something else where a whole number is wanted, and which would be right.
fn not_a_number<P: JsonSchema>(name: &str, given: Option<&Value>) -> Option<String> {
    let schema = schema::<P>();
    let table = &schema["properties"][name];
    if given?.is_u64() || table["type"] != "integer" {
        return None;
    }
    let number = |key: &str| table[key].as_u64();
    let right = number("default").or(number("minimum")).unwrap_or(1);
    let range = match (number("minimum"), number("maximum")) {
        (Some(low), Some(high)) => format!(", or another from {low} to {high}"),
        _ => String::new(),
    };
    // A comment of the source may have several lines; a message has one.
    let about = table["description"].as_str().unwrap_or_default();
    let about = about.split_whitespace().collect::<Vec<_>>().join(" ");
    let given = given?;
    Some(format!(
        "{given} is not a whole number. Fix: {name} = {right}{range}. {about}"
    ))
}

/// Parameters with the ranges that [`crate::parameters`] states.
pub trait Ranges {
    /// Compares each value with its range.
    ///
    /// # Errors
    /// `BadJob`, naming the parameter and the range.
    fn check_ranges(&self) -> Result<(), Failure>;
}

/// As [`parse`], with each value in its range.
///
/// # Errors
/// `BadJob`, naming the parameter.
pub fn read<P: DeserializeOwned + JsonSchema + Ranges>(
    parameters: &Map<String, Value>,
) -> Result<P, Failure> {
    let params: P = parse(parameters)?;
    params.check_ranges().map(|()| params)
}

/// Parameters of a workload, each stated once: help, name, type, default and range.
///
/// `in LEAST..=MOST`, `from LEAST` and `above FLOOR to MOST` are checked and in the schema, `within
/// RANGE` only checked (sizes are written with suffixes, which a schema cannot compare; of a list
/// each value is), `up to N` limits how many there are. What may be left out has a range where it
/// is given. Implements `Default` and [`Ranges`](crate::params::Ranges).
///
/// ```
/// use kit::{params, Size};
/// use schemars::JsonSchema;
/// use serde::{Deserialize, Serialize};
///
/// kit::parameters! {
///     /// Parameters of the workload.
///     pub struct Params {
///         /// Files.
///         pub files: u32 = 500, in 1..=1_000;
///         /// Bytes per write.
///         pub block: Size = Size(512), within Size(1)..=Size(1 << 20);
///     }
/// }
/// let given = serde_json::json!({"block": "2M"});
/// let failure = params::read::<Params>(given.as_object().unwrap()).unwrap_err();
/// assert_eq!(failure.message, "parameter \"block\": 2M is out of range; use 1 to 1M");
/// assert_eq!(params::schema::<Params>()["properties"]["files"]["maximum"], 1_000);
/// ```
#[macro_export]
macro_rules! parameters {
    (
        $(#[$about:meta])*
        pub struct $name:ident {
            $(
                $(#[$help:meta])*
                pub $field:ident: $type:ty = $default:expr
                $(, in $least:tt ..= $most:expr)?
                $(, from $lowest:tt)?
                $(, above $floor:tt to $highest:expr)?
                $(, within $range:expr)?
                $(, up to $count:expr)?;
            )*
        }
    ) => {
        $(#[$about])*
        #[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
        #[serde(deny_unknown_fields, default)]
        pub struct $name {
            $(
                $(#[$help])*
                $(#[schemars(range(min = $least, max = $most))])?
                $(#[schemars(range(min = $lowest))])?
                $(#[schemars(range(max = $highest), extend("exclusiveMinimum" = $floor))])?
                $(#[schemars(length(max = $count))])?
                pub $field: $type,
            )*
        }

        impl Default for $name {
            fn default() -> Self {
                Self { $($field: $default),* }
            }
        }

        impl $crate::params::Ranges for $name {
            fn check_ranges(&self) -> Result<(), wire::Failure> {
                use $crate::limits::Limited;
                $(
                    $(self.$field.check(stringify!($field), $least..=$most)?;)?
                    $(self.$field.check(stringify!($field), $lowest..=<$type>::MAX)?;)?
                    $(
                        let limits = $crate::limits::Limits::above($floor, $highest);
                        self.$field.check(stringify!($field), limits)?;
                    )?
                    $(self.$field.check(stringify!($field), $range)?;)?
                    $(self.$field.check(stringify!($field), 0..=$count)?;)?
                )*
                Ok(())
            }
        }
    };
}

/// Whether `names` has the name of each of `parameters`.
///
/// # Errors
/// `BadJob`, naming the first that it has not.
pub fn known(parameters: &Map<String, Value>, names: &[String]) -> Result<(), Failure> {
    match parameters.keys().find(|name| !names.contains(name)) {
        Some(unknown) => Err(bad_parameter(
            unknown,
            unknown_name("parameter", unknown, names),
        )),
        None => Ok(()),
    }
}

/// The JSON Schema of `P`, as a workload's card carries it.
pub fn schema<P: JsonSchema>() -> Value {
    schemars::schema_for!(P).to_value()
}

/// `parameters` with every default resolved, as the hello line shows it.
pub fn effective<P: Serialize>(parameters: &P) -> Map<String, Value> {
    match serde_json::to_value(parameters) {
        Ok(Value::Object(map)) => map,
        other => unreachable!("parameters are an object with string keys, not {other:?}"),
    }
}

/// The sentence for a name that is not one of `known`: lists those, and asks for the likeliest.
pub fn unknown_name(what: &str, unknown: &str, known: &[String]) -> String {
    let likeliest = known
        .iter()
        .map(|name| (strsim::jaro_winkler(unknown, name), name))
        .filter(|(likeness, _)| *likeness >= LIKENESS)
        .max_by(|left, right| left.0.total_cmp(&right.0));
    let question = likeliest.map_or(String::new(), |(_, name)| {
        format!(" Did you mean \"{name}\"?")
    });
    format!(
        "\"{unknown}\" is not a {what}. One of: {}.{question}",
        known.join(", ")
    )
}

fn names<P: JsonSchema>() -> Vec<String> {
    match schema::<P>().get("properties") {
        Some(Value::Object(properties)) => properties.keys().cloned().collect(),
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;
    use serde_json::json;

    use super::*;
    use crate::Size;

    #[derive(Debug, Serialize, Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields, default)]
    struct Params {
        /// Sizes of records.
        record: Vec<Size>,
        /// Whether to look.
        verify: bool,
    }

    impl Default for Params {
        fn default() -> Self {
            Self {
                record: vec![Size(4096)],
                verify: true,
            }
        }
    }

    fn parsed(value: Value) -> Result<Params, Failure> {
        parse(value.as_object().unwrap())
    }

    #[test]
    fn what_is_left_out_takes_the_default() {
        let params = parsed(json!({"record": ["64k"]})).unwrap();
        assert_eq!(
            Value::Object(effective(&params)),
            json!({"record": [65536], "verify": true})
        );
    }

    #[test]
    fn what_is_no_number_is_told_with_what_would_be_right() {
        #[derive(Debug, Deserialize, JsonSchema)]
        struct Counted {
            /// Files in
            /// the pool.
            #[schemars(range(min = 1, max = 9))]
            #[serde(rename = "files")]
            _files: u32,
        }
        let given = json!({"files": "x"});
        let failure = parse::<Counted>(given.as_object().unwrap()).unwrap_err();
        assert_eq!(
            failure.message,
            "parameter \"files\": \"x\" is not a whole number. Fix: files = 1, or another from \
             1 to 9. Files in the pool."
        );
    }

    #[test]
    fn an_unknown_name_lists_the_known_ones() {
        let failure = parsed(json!({"recrod": 1})).unwrap_err();
        assert_eq!(failure.parameter.as_deref(), Some("recrod"));
        assert_eq!(
            failure.message,
            "\"recrod\" is not a parameter. One of: record, verify. Did you mean \"record\"?"
        );
        let failure = parsed(json!({"xyz": 1})).unwrap_err();
        assert!(!failure.message.contains("mean"), "{}", failure.message);
    }

    #[test]
    fn a_wrong_value_names_its_place() {
        let failure = parsed(json!({"record": ["64k", "1.5M"]})).unwrap_err();
        assert_eq!(failure.parameter.as_deref(), Some("record[1]"));
        assert!(failure.message.contains("1.5M"), "{}", failure.message);
    }

    #[test]
    fn the_path_leads_to_the_first_that_is_wrong() {
        #[derive(Debug, Deserialize)]
        struct Nested {
            #[serde(rename = "inner", default)]
            _inner: Vec<Params>,
            #[serde(rename = "wanted")]
            _wanted: u32,
        }
        let path = |value| read_value::<Nested>(&value).unwrap_err().0;
        assert_eq!(path(json!({"wanted": 1, "inner": 2})), "inner");
        let inner = json!([{}, {"verify": true, "record": ["1k", "x", "y"]}, 3]);
        assert_eq!(
            path(json!({"inner": inner, "wanted": "z"})),
            "inner[1].record[1]"
        );
        assert_eq!(path(json!({"inner": [{}], "wanted": "z"})), "wanted");
        assert_eq!(path(json!({"inner": [{}]})), ".");
        assert_eq!(path(json!({"inner": [{"recrod": 1}]})), "inner[0].recrod");
        assert_eq!(path(json!(7)), ".");
    }
}
