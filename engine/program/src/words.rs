//! Placeholders: `{name}` in the words of commands, in values of variables and in paths.
//!
//! Braces of shells, JSON, awk and regular expressions stay as they are: only a name in braces,
//! `[A-Za-z_][A-Za-z0-9_]*`, is a placeholder, `${name}` is the shell's, and `{{name}}` stands for
//! `{name}`.

use std::collections::BTreeMap;

use kit::failure::bad_parameter;
use wire::Failure;

/// What stands for each name.
pub type Values = BTreeMap<String, String>;

/// `text`, which belongs to `parameter`, with its placeholders filled in.
///
/// # Errors
/// `BadJob`, naming the placeholder that nothing stands for.
pub fn fill(parameter: &str, text: &str, values: &Values) -> Result<String, Failure> {
    let mut filled = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find('{') {
        let (before, from_brace) = rest.split_at(start);
        filled.push_str(before);
        let is_of_shell = before.ends_with('$');
        rest = match Piece::at(from_brace) {
            Piece::Placeholder { name, length } if !is_of_shell => {
                let value = values.get(name);
                filled.push_str(value.ok_or_else(|| unknown(parameter, name, values))?);
                &from_brace[length..]
            }
            Piece::Escaped { length } if !is_of_shell => {
                filled.push_str(&from_brace[1..length - 1]);
                &from_brace[length..]
            }
            _ => {
                let after = from_brace.trim_start_matches('{');
                filled.push_str(&from_brace[..from_brace.len() - after.len()]);
                after
            }
        };
    }
    filled.push_str(rest);
    Ok(filled)
}

/// Whether the value of `name` stands in `text`.
pub fn has(text: &str, name: &str) -> bool {
    let marked = |value: &str| {
        let values = [(name.to_owned(), value.to_owned())].into();
        fill("", text, &values)
    };
    match (marked("a"), marked("b")) {
        (Ok(a), Ok(b)) => a != b,
        // Another name is unknown; this one may be there too.
        _ => text.contains(&format!("{{{name}}}")),
    }
}

/// What begins with a brace.
enum Piece<'a> {
    Placeholder { name: &'a str, length: usize },
    Escaped { length: usize },
    Brace,
}

impl<'a> Piece<'a> {
    fn at(text: &'a str) -> Self {
        let inside = text.trim_start_matches('{');
        let opened = text.len() - inside.len();
        let is_of_name = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
        let length = inside.bytes().take_while(|byte| is_of_name(byte)).count();
        let (name, after) = inside.split_at(length);
        let begins_well = name.starts_with(|first: char| !first.is_ascii_digit());
        match opened {
            1 if begins_well && after.starts_with('}') => Self::Placeholder {
                name,
                length: length + 2,
            },
            2 if begins_well && after.starts_with("}}") => Self::Escaped { length: length + 4 },
            _ => Self::Brace,
        }
    }
}

fn unknown(parameter: &str, name: &str, values: &Values) -> Failure {
    let known: Vec<String> = values.keys().map(|name| format!("{{{name}}}")).collect();
    let message = format!(
        "parameter \"{parameter}\": nothing stands for {{{name}}}; there are {}. \
         Fix: give the system a variable \"{name}\", or write {{{{{name}}}}} for the braces \
         themselves",
        known.join(", ")
    );
    bad_parameter(parameter, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(text: &str) -> Result<String, Failure> {
        let values = [("dir", "/d"), ("execution", "3"), ("path", "/bin/{dir}")];
        let values = values.map(|(name, value)| (name.to_owned(), value.to_owned()));
        fill("command", text, &values.into())
    }

    #[test]
    fn names_in_braces_are_filled_in_once() {
        for (text, expected) in [
            ("{dir}/x{execution}{execution}", "/d/x33"),
            ("{path}", "/bin/{dir}"),
            ("{{dir}} {{other}}", "{dir} {other}"),
            (r#"{"a": {"b": 1}}"#, r#"{"a": {"b": 1}}"#),
            ("a{2,3} { print $1 } {} {1}", "a{2,3} { print $1 } {} {1}"),
            ("${dir} ${{dir}} $HOME", "${dir} ${{dir}} $HOME"),
            ("{{{dir}}}", "{{{dir}}}"),
            ("é{dir", "é{dir"),
        ] {
            assert_eq!(filled(text).unwrap(), expected, "{text}");
        }
    }

    #[test]
    fn an_unknown_name_is_told_with_the_known_ones() {
        let failure = filled("{dri}").unwrap_err();
        assert_eq!(failure.parameter.as_deref(), Some("command"));
        for part in ["{dri}", "{dir}, {execution}, {path}", "{{dri}}"] {
            assert!(failure.message.contains(part), "{}", failure.message);
        }
        assert!(has("{dir}/{x}", "dir") && has("a{dir}", "dir") && !has("{{dir}}", "dir"));
    }
}
