//! `--force`: removing what would be overwritten. Only regular files are ever removed, and none of
//! them where there is something else among what would have to go.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use kit::failure::{failure, io_failure};
use wire::{Failure, FailureKind};

/// Removes regular files; one that is not there is no fault.
///
/// # Errors
/// `Refused` when one is anything but a regular file, and then all are still there; else those of
/// unlink(2).
pub fn remove(paths: impl Iterator<Item = impl AsRef<Path>>) -> Result<(), Failure> {
    let mut found = Vec::new();
    for path in paths {
        if is_there(path.as_ref())? {
            found.push(path);
        }
    }
    found.iter().map(AsRef::as_ref).try_for_each(|path| {
        fs::remove_file(path).map_err(|error| io_failure("remove", path, &error))
    })
}

fn is_there(path: &Path) -> Result<bool, Failure> {
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        Err(error) => Err(io_failure("look at", path, &error)),
        Ok(found) if found.is_file() => Ok(true),
        Ok(_) => {
            let path = path.display();
            let message = format!("{path} is not a regular file, and is not removed; move it away");
            Err(failure(FailureKind::Refused, message))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_go_and_what_is_no_file_stays() {
        let directory = tempfile::tempdir().unwrap();
        let [one, two] = ["1", "2"].map(|name| directory.path().join(name));
        let remove_both = || remove([&one, &two].into_iter());
        assert!(remove_both().is_ok());
        fs::write(&one, "old").unwrap();
        assert!(remove_both().is_ok() && !one.exists());
        fs::write(&one, "old").unwrap();
        fs::create_dir(&two).unwrap();
        assert_eq!(remove_both().unwrap_err().kind, FailureKind::Refused);
        assert!(one.exists() && two.exists());
    }
}
