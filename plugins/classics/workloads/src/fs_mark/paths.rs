//! Where files lie: `DIRECTORY/[XX/]NAME`, made in one buffer without allocating.

use std::ffi::{CStr, CString, OsStr};
use std::io::Write;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;

use super::params::Params;

/// Room for the longest number of a subdirectory in hexadecimal, its slash and the final NUL.
const EXTRA_BYTES: usize = 8 + 1 + 1;

/// Paths below one directory.
pub struct Paths {
    /// The directory, with a final slash.
    directory: Vec<u8>,
    has_subdirectories: bool,
    path: Vec<u8>,
}

impl Paths {
    /// Paths below `directory`.
    pub fn new(directory: &Path, params: &Params) -> Self {
        let directory = directory.join("").into_os_string().into_vec();
        let room = directory.len() + params.name_length + EXTRA_BYTES;
        Self {
            directory,
            has_subdirectories: params.subdirectories > 0,
            path: Vec::with_capacity(room),
        }
    }

    /// The file of this name.
    pub fn file(&mut self, subdirectory: u32, name: &[u8]) -> &CStr {
        self.begin(subdirectory, "/");
        self.path.extend_from_slice(name);
        self.end()
    }

    /// The directory of a file of `subdirectory`.
    pub fn holding(&mut self, subdirectory: u32) -> &CStr {
        self.begin(subdirectory, "");
        self.end()
    }

    /// What was asked for last.
    pub fn current(&self) -> &CStr {
        CStr::from_bytes_with_nul(&self.path).expect("neither directory nor name has a NUL")
    }

    /// As [`Paths::current`], for people.
    pub fn shown(&self) -> &Path {
        Path::new(OsStr::from_bytes(self.current().to_bytes()))
    }

    fn begin(&mut self, subdirectory: u32, separator: &str) {
        self.path.clear();
        self.path.extend_from_slice(&self.directory);
        if self.has_subdirectories {
            write!(self.path, "{subdirectory:02x}{separator}")
                .expect("a vector takes whatever is written");
        }
    }

    fn end(&mut self) -> &CStr {
        self.path.push(0);
        self.current()
    }
}

/// A path for the kernel.
pub fn c_path(path: &Path) -> CString {
    let bytes = path.as_os_str().as_bytes();
    CString::new(bytes).expect("the path of a directory has no NUL")
}

#[cfg(test)]
mod tests {
    use serde_json::{json, Value};

    use super::*;

    fn paths(given: Value) -> Paths {
        let params = Params::parse(given.as_object().unwrap()).unwrap();
        Paths::new(Path::new("/mnt/t"), &params)
    }

    #[test]
    fn files_lie_in_the_directory_or_in_its_subdirectories() {
        let mut flat = paths(json!({}));
        assert_eq!(flat.file(0, b"NAME"), c"/mnt/t/NAME");
        assert_eq!(flat.holding(0), c"/mnt/t/");
        let mut deep = paths(json!({"subdirectories": 300}));
        assert_eq!(deep.file(3, b"NAME"), c"/mnt/t/03/NAME");
        assert_eq!(deep.file(299, b"NAME"), c"/mnt/t/12b/NAME");
        assert_eq!(deep.holding(10), c"/mnt/t/0a");
        assert_eq!(deep.shown(), Path::new("/mnt/t/0a"));
    }

    #[test]
    fn a_path_never_outgrows_its_buffer() {
        let mut paths = paths(json!({"subdirectories": 1_000_000}));
        let room = paths.path.capacity();
        paths.file(u32::MAX, &[b'N'; 40]);
        assert_eq!(paths.path.capacity(), room);
    }
}
