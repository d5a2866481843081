//! `--force`: removing what would be overwritten. Only regular files are ever removed.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use kit::failure::{failure, io_failure};
use wire::{Failure, FailureKind};

/// Removes the regular file `path`; one that is not there is no fault.
///
/// # Errors
/// `Refused` when it is anything but a regular file; else those of unlink(2).
pub fn remove(path: &Path) -> Result<(), Failure> {
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        Err(error) => Err(io_failure("look at", path, &error)),
        Ok(found) if found.is_file() => {
            fs::remove_file(path).map_err(|error| io_failure("remove", path, &error))
        }
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
        let path = directory.path().join("x");
        assert!(remove(&path).is_ok());
        fs::write(&path, "old").unwrap();
        assert!(remove(&path).is_ok() && !path.exists());
        fs::create_dir(&path).unwrap();
        assert_eq!(remove(&path).unwrap_err().kind, FailureKind::Refused);
        assert!(path.exists());
    }
}
