//! A fresh directory for a socket that has a name, for nobody else's eyes.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use crate::control::secret;

/// Removed, with the socket in it, when this is dropped.
pub struct Directory {
    path: PathBuf,
}

impl Directory {
    /// Makes it among the temporary files.
    ///
    /// # Errors
    /// As mkdir(2).
    pub fn new() -> io::Result<Self> {
        // The name of a socket has at most 107 bytes, unix(7): a short one suffices.
        let number = secret::nonce()?;
        let path = std::env::temp_dir().join(format!("tiltyard-{}", &number[..12]));
        DirBuilder::new().mode(0o700).create(&path)?;
        Ok(Self { path })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        // Nothing could be done about an error.
        let _ = fs::remove_dir_all(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn it_is_ours_alone_and_does_not_last() {
        let directory = Directory::new().unwrap();
        let path = directory.path().to_owned();
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o700);
        fs::write(path.join("flows"), "").unwrap();
        drop(directory);
        assert!(!path.exists());
    }
}
