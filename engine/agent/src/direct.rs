//! What becomes of direct I/O in a directory: open(2), statx(2).

use std::fs::{self, File};
use std::path::Path;

use kit::cache::{direct_alignment, refuses_direct};
use wire::HostDirect;

/// Opens a file that is made for it, and removed; `None` where none can be made.
pub fn within(directory: &Path) -> Option<HostDirect> {
    let path = directory.join(format!("tiltyard-{}-direct", std::process::id()));
    File::create_new(&path).ok()?;
    let is_refused = refuses_direct(&path);
    let alignment = direct_alignment(&path).ok().flatten();
    let _ = fs::remove_file(&path);
    Some(HostDirect {
        is_refused,
        alignment: alignment.filter(|_| !is_refused),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_stays_of_the_file_that_was_made_for_it() {
        let directory = tempfile::tempdir().unwrap();
        let told = within(directory.path()).unwrap();
        assert!(!(told.is_refused && told.alignment.is_some()));
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
        assert_eq!(within(&directory.path().join("nowhere")), None);
        let taken = format!("tiltyard-{}-direct", std::process::id());
        fs::write(directory.path().join(&taken), "theirs").unwrap();
        assert_eq!(within(directory.path()), None);
        assert_eq!(
            fs::read_to_string(directory.path().join(taken)).unwrap(),
            "theirs"
        );
    }
}
