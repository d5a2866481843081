//! Paths that a command line names, as names below the target directory of a job.

use std::path::{Path, PathBuf};

use kit::failure::bad_parameter;
use wire::Failure;

/// A directory, and names of what lies below it.
#[derive(Debug, PartialEq, Eq)]
pub struct Places {
    pub directory: PathBuf,
    pub names: Vec<String>,
}

impl Places {
    /// The deepest directory that contains all `paths`. Their last parts need not exist. `option`
    /// is what named them.
    ///
    /// # Errors
    /// `BadJob`: there is no directory that one of them could lie in, or it has no name.
    pub fn of(option: &str, paths: &[PathBuf]) -> Result<Self, Failure> {
        let whole = |path: &PathBuf| {
            whole(path).map_err(|error| {
                let message = format!("option {option}: {}: {error}", path.display());
                bad_parameter(option, message)
            })
        };
        let paths = paths.iter().map(whole).collect::<Result<Vec<_>, _>>()?;
        let parents = || paths.iter().filter_map(|path| path.parent());
        let mut directory = parents().next().unwrap_or(Path::new("."));
        while !parents().all(|parent| parent.starts_with(directory)) {
            directory = directory.parent().expect("all paths lie below the root");
        }
        let below = |path: &PathBuf| {
            let name = path.strip_prefix(directory).ok().and_then(Path::to_str);
            name.map(str::to_owned).ok_or_else(|| {
                let message = format!("option {option}: {} is not UTF-8", path.display());
                bad_parameter(option, message)
            })
        };
        Ok(Self {
            names: paths.iter().map(below).collect::<Result<_, _>>()?,
            directory: directory.to_owned(),
        })
    }

    /// The paths themselves.
    pub fn paths(&self) -> impl Iterator<Item = PathBuf> + '_ {
        self.names.iter().map(|name| self.directory.join(name))
    }
}

/// The path from the root; only its last part may be missing.
fn whole(path: &Path) -> Result<PathBuf, String> {
    let named = |path: PathBuf| match path.file_name() {
        Some(_) => Ok(path),
        None => Err("name a directory in it".to_owned()),
    };
    let Some(name) = path.file_name() else {
        let path = path.canonicalize().map_err(|error| error.to_string())?;
        return named(path);
    };
    let parent = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let parent = parent
        .canonicalize()
        .map_err(|error| format!("there is no directory {}: {error}", parent.display()))?;
    named(parent.join(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lie_below_what_their_paths_share() {
        let home = tempfile::tempdir().unwrap();
        let home = home.path().canonicalize().unwrap();
        for name in ["a", "a/deep", "b"] {
            std::fs::create_dir(home.join(name)).unwrap();
        }
        for (names, directory, below) in [
            (vec!["a/new"], "a", vec!["new"]),
            (vec!["a/deep/x", "b/../a/y"], "a", vec!["deep/x", "y"]),
            (vec!["a/x", "b/"], "", vec!["a/x", "b"]),
            (vec!["a/deep/.."], "", vec!["a"]),
        ] {
            let paths: Vec<_> = names.iter().map(|name| home.join(name)).collect();
            let places = Places::of("-d", &paths).unwrap();
            assert_eq!(places.directory, home.join(directory), "{names:?}");
            assert_eq!(places.names, below, "{names:?}");
        }
    }

    #[test]
    fn a_path_that_leads_nowhere_names_its_option() {
        for path in ["/", "/nowhere at all/x"] {
            let failure = Places::of("-d", &[path.into()]).unwrap_err();
            assert!(
                failure.message.starts_with("option -d: /"),
                "{}",
                failure.message
            );
        }
    }
}
