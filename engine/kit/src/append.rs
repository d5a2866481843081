//! Adding to a file that people keep.

use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::Path;

/// Adds what `write` writes to the end of the file at `path`, which is made if it is missing: all
/// of it or, when that fails, nothing.
///
/// # Errors
/// Those of open(2) and write(2), and that of `write`.
pub fn append(
    path: &Path,
    write: impl FnOnce(&mut BufWriter<&File>) -> io::Result<()>,
) -> io::Result<()> {
    let file = OpenOptions::new().append(true).create(true).open(path)?;
    let size_bytes = file.metadata()?.len();
    let mut buffered = BufWriter::new(&file);
    let written = write(&mut buffered).and_then(|()| buffered.flush());
    // What is still buffered must not follow when the buffer is dropped.
    drop(buffered.into_parts());
    written.inspect_err(|_| {
        // A pipe or a device has no length; the first error is reported.
        let _ = file.set_len(size_bytes);
    })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn all_is_added_or_nothing() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("log");
        append(&path, |file| writeln!(file, "one")).unwrap();
        let error = append(&path, |file| {
            // More than the buffer holds, so that a part is in the file already.
            file.write_all(&[b'x'; 100_000])?;
            file.write_all(b"the rest")?;
            Err(io::Error::from_raw_os_error(libc::ENOSPC))
        });
        assert_eq!(error.unwrap_err().raw_os_error(), Some(libc::ENOSPC));
        append(&path, |file| writeln!(file, "two")).unwrap();
        assert_eq!(fs::read_to_string(path).unwrap(), "one\ntwo\n");
    }
}
