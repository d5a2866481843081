//! Patterns of paths, as Python's `glob` and a shell have them: `*`, `?` and `[a-z]` stand for a
//! part of one name, and for a dot at its begin only where the pattern has it.

use std::fs;
use std::path::Path;

/// Entries of directories that are looked at for one pattern: links may lead in circles.
const MOST_ENTRIES: usize = 100_000;

/// Paths that exist and that an absolute pattern means, in order; `None` where that is too much to
/// look through. Names that are no UTF-8 are none that could be told.
pub fn expand(pattern: &str) -> Option<Vec<String>> {
    let mut found = Vec::new();
    if !has_magic(pattern) {
        found.extend(exists(pattern).then(|| pattern.to_owned()));
        return Some(found);
    }
    let parts: Vec<&str> = pattern[1..].split('/').collect();
    let mut left = MOST_ENTRIES;
    below(String::new(), &parts, &mut left, &mut found).then_some(found)
}

/// Adds what the rest of a pattern means below a directory; whether it could look through all.
fn below(mut base: String, parts: &[&str], left: &mut usize, found: &mut Vec<String>) -> bool {
    let written = parts.iter().position(|part| has_magic(part));
    let (written, rest) = parts.split_at(written.unwrap_or(parts.len()));
    for part in written {
        base.push('/');
        base.push_str(part);
    }
    let Some((magic, rest)) = rest.split_first() else {
        // What ends with a slash is a directory.
        if exists(&base) {
            found.push(base);
        }
        return true;
    };
    let name = Pattern::new(magic);
    let mut names = Vec::new();
    let directory = if base.is_empty() { "/" } else { &base };
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        if *left == 0 {
            return false;
        }
        *left -= 1;
        names.extend(
            entry
                .file_name()
                .into_string()
                .ok()
                .filter(|own| name.matches(own)),
        );
    }
    names.sort_unstable();
    names.into_iter().all(|name| {
        let path = format!("{base}/{name}");
        match rest {
            [] => {
                found.push(path);
                true
            }
            _ => below(path, rest, left, found),
        }
    })
}

fn exists(path: &str) -> bool {
    Path::new(path).symlink_metadata().is_ok()
}

fn has_magic(text: &str) -> bool {
    text.contains(['*', '?', '['])
}

/// A pattern of one name.
struct Pattern(Vec<Part>);

enum Part {
    Any,
    One,
    Char(char),
    /// One character of these ranges, or of none of them.
    Set(bool, Vec<(char, char)>),
}

impl Pattern {
    fn new(text: &str) -> Self {
        let text: Vec<char> = text.chars().collect();
        let (mut parts, mut at) = (Vec::new(), 0);
        while let Some(&char) = text.get(at) {
            at += 1;
            parts.push(match char {
                '*' => Part::Any,
                '?' => Part::One,
                '[' => match set(&text[at..]) {
                    Some((set, length)) => {
                        at += length;
                        set
                    }
                    None => Part::Char('['),
                },
                char => Part::Char(char),
            });
        }
        Self(parts)
    }

    fn matches(&self, name: &str) -> bool {
        if name.starts_with('.') && !matches!(self.0.first(), Some(Part::Char('.'))) {
            return false;
        }
        let name: Vec<char> = name.chars().collect();
        let (mut part, mut char) = (0, 0);
        // The last star, and what it stands for up to.
        let mut star = None;
        while char < name.len() {
            match self.0.get(part) {
                Some(Part::Any) => {
                    star = Some((part, char));
                    part += 1;
                }
                Some(own) if own.is(name[char]) => {
                    part += 1;
                    char += 1;
                }
                _ => {
                    let Some((of, from)) = star else {
                        return false;
                    };
                    star = Some((of, from + 1));
                    (part, char) = (of + 1, from + 1);
                }
            }
        }
        self.0[part..].iter().all(|part| matches!(part, Part::Any))
    }
}

impl Part {
    fn is(&self, char: char) -> bool {
        match self {
            Self::Any => false,
            Self::One => true,
            Self::Char(own) => *own == char,
            Self::Set(is_negated, ranges) => {
                let is_in = ranges.iter().any(|(from, to)| (from..=to).contains(&&char));
                is_in != *is_negated
            }
        }
    }
}

/// What follows a bracket, and how long it is; `None` where that is never closed and so stands for
/// itself.
fn set(text: &[char]) -> Option<(Part, usize)> {
    let is_negated = text.first() == Some(&'!');
    let from = usize::from(is_negated);
    // A bracket that comes first is a character as any other.
    let close = text.iter().skip(from + 1).position(|char| *char == ']')?;
    let to = from + 1 + close;
    let (mut ranges, mut at) = (Vec::new(), from);
    while at < to {
        let is_range = at + 2 < to && text[at + 1] == '-';
        let last = if is_range { at + 2 } else { at };
        ranges.push((text[at], text[last]));
        at = last + 1;
    }
    Some((Part::Set(is_negated, ranges), to + 1))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use proptest::prelude::*;

    use super::*;

    /// The same by trying everything, for patterns without ranges.
    fn plainly(pattern: &[char], name: &[char]) -> bool {
        match (pattern, name) {
            ([], _) => name.is_empty(),
            (['*', rest @ ..], _) => (0..=name.len()).any(|length| plainly(rest, &name[length..])),
            (['?', rest @ ..], [_, name @ ..]) => plainly(rest, name),
            (['[', '!', one, ']', rest @ ..], [char, name @ ..]) => {
                one != char && plainly(rest, name)
            }
            (['[', one, ']', rest @ ..], [char, name @ ..]) => one == char && plainly(rest, name),
            ([own, rest @ ..], [char, name @ ..]) => own == char && plainly(rest, name),
            _ => false,
        }
    }

    proptest! {
        #[test]
        fn names_match_as_by_trying_everything(
            parts in prop::collection::vec("[*?a-c.é]|\\[[abc\\]]\\]|\\[![abc]\\]", 0..8),
            name in "[a-c.é]{0,8}",
        ) {
            let pattern = parts.concat();
            let chars = |text: &str| text.chars().collect::<Vec<_>>();
            let is_hidden = name.starts_with('.') && !pattern.starts_with('.');
            let expected = !is_hidden && plainly(&chars(&pattern), &chars(&name));
            prop_assert_eq!(Pattern::new(&pattern).matches(&name), expected);
        }
    }

    #[test]
    fn brackets_are_read_as_fnmatch_reads_them() {
        for (pattern, of, others) in [
            ("cpu[0-9]*", "cpu0 cpu12", "cpu cpux"),
            ("[a-c-e]", "a b c - e", "d"),
            ("[]a]", "] a", "b"),
            ("[!]a]", "b", "] a"),
            ("[a", "[a", "a"),
            ("[a-]", "a -", "b"),
            ("[b-a]", "", "a b"),
        ] {
            let pattern = Pattern::new(pattern);
            assert!(
                of.split_terminator(' ').all(|name| pattern.matches(name)),
                "{of}"
            );
            assert!(
                !others
                    .split_terminator(' ')
                    .any(|name| pattern.matches(name)),
                "{others}"
            );
        }
    }

    #[test]
    fn paths_are_those_that_exist_in_order() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().to_str().unwrap();
        for path in ["b/queue/x", "a/queue/x", "a/.hidden", "odd[1]", "plain"] {
            let path = directory.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
        symlink("nowhere", directory.path().join("dangling")).unwrap();
        for (pattern, expected) in [
            ("*/queue/x", "a/queue/x b/queue/x"),
            ("*", "a b dangling odd[1] plain"),
            ("a/*", "a/queue"),
            ("a/.*", "a/.hidden"),
            ("*/", "a/ b/"),
            ("[ab]/queue/?", "a/queue/x b/queue/x"),
            ("plain", "plain"),
            ("plain/", ""),
            ("dangling", "dangling"),
            ("absent", ""),
            ("absent/*", ""),
            ("odd[[]1]", "odd[1]"),
        ] {
            let found = expand(&format!("{root}/{pattern}")).unwrap();
            let of = |path: &str| path.replacen(&format!("{root}/"), "", 1);
            let found: Vec<_> = found.iter().map(|path| of(path)).collect();
            assert_eq!(found.join(" "), expected, "{pattern}");
        }
    }

    #[test]
    fn circles_are_not_gone_round_for_ever() {
        let directory = tempfile::tempdir().unwrap();
        for name in ["a", "b"] {
            symlink(".", directory.path().join(name)).unwrap();
        }
        let root = directory.path().to_str().unwrap();
        assert_eq!(expand(&format!("{root}{}", "/*".repeat(30))), None);
        assert_eq!(
            expand(&format!("{root}{}", "/*".repeat(3))).unwrap().len(),
            8
        );
    }
}
