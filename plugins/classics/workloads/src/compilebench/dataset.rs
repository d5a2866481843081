//! The original's four files: a path and a size in bytes per line, of the source trees and of
//! the compiled trees of two versions. The sets are their differences.

use std::collections::HashMap;
use std::fs;
use std::path::{Component, Path};

use kit::failure::bad_parameter;
use wire::Failure;

use super::sets::{Listing, Sets};

const SOURCE: &str = "dataset-unpatched";
const PATCHED: &str = "dataset-patched";
const COMPILED: &str = "dataset-unpatched-compiled";
const PATCHED_COMPILED: &str = "dataset-patched-compiled";

/// Reads the files of `directory`.
///
/// # Errors
/// `BadJob`, naming the file and the line.
pub fn read(directory: &Path) -> Result<Sets, Failure> {
    let names = [SOURCE, PATCHED, COMPILED, PATCHED_COMPILED];
    let mut listings = Vec::new();
    for name in names {
        listings.push(read_listing(&directory.join(name))?);
    }
    let [source, patched, compiled, patched_compiled] =
        listings.try_into().expect("a listing for each name");
    let sets = derived(source, patched, compiled, patched_compiled);
    for (listing, what) in sets
        .iter()
        .zip(["source", "patch", "objects", "new objects"])
    {
        if listing.is_empty() {
            let message = format!(
                "parameter \"dataset\": in {} the set \"{what}\" is empty; the four files must \
                 differ",
                directory.display()
            );
            return Err(bad_parameter("dataset", message));
        }
    }
    Ok(Sets::new(sets))
}

/// The four sets: a file of the same size counts as unchanged, and what a build makes is what
/// the source has not.
fn derived(
    source: Listing,
    patched: Listing,
    compiled: Listing,
    patched_compiled: Listing,
) -> [Listing; 4] {
    let without = |listing: Listing, keep: &dyn Fn(&str, u64) -> bool| -> Listing {
        let files = listing.into_iter();
        files.filter(|(path, size)| keep(path, *size)).collect()
    };
    let sizes = |listing: &Listing| -> HashMap<String, u64> { listing.iter().cloned().collect() };
    let (in_source, in_patched) = (sizes(&source), sizes(&patched));
    let objects = without(compiled, &|path, _| !in_source.contains_key(path));
    let in_objects = sizes(&objects);
    let patch = without(patched, &|path, size| in_source.get(path) != Some(&size));
    let patched_objects = without(patched_compiled, &|path, size| {
        !in_patched.contains_key(path) && in_objects.get(path) != Some(&size)
    });
    [source, patch, objects, patched_objects]
}

fn read_listing(path: &Path) -> Result<Listing, Failure> {
    let refused = |what: String| {
        let message = format!("parameter \"dataset\": {}{what}", path.display());
        bad_parameter("dataset", message)
    };
    let text = fs::read_to_string(path).map_err(|error| {
        refused(format!(
            ": {error}; give a directory with the original's four files dataset-*"
        ))
    })?;
    let mut places: HashMap<&str, usize> = HashMap::new();
    let mut listing = Listing::new();
    for (index, line) in text.lines().enumerate() {
        if line.trim().is_empty() {
            continue;
        }
        let (file, size_bytes) = parse_line(line).ok_or_else(|| {
            let number = index + 1;
            refused(format!(
                ":{number}: \"{line}\" is not a path within the tree and a size in bytes"
            ))
        })?;
        match places.get(file) {
            Some(&place) => listing[place].1 = size_bytes,
            None => {
                places.insert(file, listing.len());
                listing.push((file.to_owned(), size_bytes));
            }
        }
    }
    Ok(listing)
}

/// Further words are ignored, as the original does. A path must not lead out of the tree.
fn parse_line(line: &str) -> Option<(&str, u64)> {
    let mut words = line.split_ascii_whitespace();
    let (path, size) = (words.next()?, words.next()?);
    let is_within = Path::new(path)
        .components()
        .all(|component| matches!(component, Component::Normal(_)));
    let is_plain = !path.contains("//") && !path.contains("/./") && !path.ends_with(['/', '\0']);
    let is_plain = is_plain && !path.ends_with("/.") && !path.contains('\0');
    (is_within && is_plain).then_some((path, size.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::super::sets::tests::listing;
    use super::super::sets::SetName;
    use super::*;

    #[test]
    fn sets_are_differences() {
        let [source, patch, objects, patched_objects] = derived(
            listing(&[("same", 1), ("grown", 2), ("gone", 3)]),
            listing(&[("same", 1), ("grown", 20), ("new", 4), ("made", 5)]),
            listing(&[
                ("same", 1),
                ("grown", 2),
                ("gone", 3),
                ("a.o", 6),
                ("b.o", 7),
                ("made", 8),
            ]),
            listing(&[
                ("same", 1),
                ("a.o", 6),
                ("b.o", 70),
                ("made", 5),
                ("c.o", 9),
            ]),
        );
        assert_eq!(source.len(), 3);
        assert_eq!(patch, listing(&[("grown", 20), ("new", 4), ("made", 5)]));
        assert_eq!(objects, listing(&[("a.o", 6), ("b.o", 7), ("made", 8)]));
        assert_eq!(patched_objects, listing(&[("b.o", 70), ("c.o", 9)]));
    }

    fn written(source: &str) -> tempfile::TempDir {
        let directory = tempfile::tempdir().unwrap();
        for (name, text) in [
            (SOURCE, source),
            (PATCHED, "x/a 2\nx/b 1\n"),
            (COMPILED, "x/a 1\nx/a.o 7\n"),
            (PATCHED_COMPILED, "x/a.o 8\n"),
        ] {
            fs::write(directory.path().join(name), text).unwrap();
        }
        directory
    }

    #[test]
    fn further_words_are_ignored_and_the_last_line_of_a_path_counts() {
        let sets = read(written("x/a 9 words follow\n\n x/b 1\nx/a 1\n").path()).unwrap();
        let source = sets.set(SetName::Source);
        assert_eq!((source.members.len(), source.bytes), (2, 2));
        let counts = SetName::ALL.map(|name| sets.set(name).members.len());
        assert_eq!(counts, [2, 1, 1, 1]);
    }

    #[test]
    fn refusals_name_file_and_line() {
        for line in [
            "a",
            "a b",
            "a -1",
            "/a 1",
            "../a 1",
            "a/../../b 1",
            "./a 1",
            "a//b 1",
            "a/ 1",
        ] {
            let failure = read(written(&format!("x/a 1\n{line}\n")).path()).unwrap_err();
            assert_eq!(failure.parameter.as_deref(), Some("dataset"));
            let message = failure.message;
            assert!(
                message.contains("dataset-unpatched:2: "),
                "{line}: {message}"
            );
        }
        let nowhere = tempfile::tempdir().unwrap();
        let missing = read(nowhere.path()).unwrap_err();
        assert!(missing.message.contains(SOURCE), "{}", missing.message);
        let empty = read(written("x/a 2\nx/b 1\nx/a.o 1\n").path()).unwrap_err();
        assert!(
            empty.message.contains("\"patch\" is empty"),
            "{}",
            empty.message
        );
    }
}
