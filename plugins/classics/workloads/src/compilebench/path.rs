//! A path that is lengthened and shortened in place, without allocating.

use std::ffi::{CStr, OsStr};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// A path as the kernel takes it.
pub struct PathBuffer(Vec<u8>);

impl PathBuffer {
    /// Starts with `path`; room is kept for so many bytes more.
    pub fn new(path: &Path, room: usize) -> Self {
        let path = path.as_os_str().as_bytes();
        let mut bytes = Vec::with_capacity(path.len() + room + 1);
        bytes.extend_from_slice(path);
        bytes.push(0);
        Self(bytes)
    }

    /// Goes down to `name`, and gives what brings it back: see [`PathBuffer::leave`].
    pub fn enter(&mut self, name: &[u8]) -> usize {
        let length = self.0.len();
        self.0[length - 1] = b'/';
        self.0.extend_from_slice(name);
        self.0.push(0);
        length
    }

    /// Goes back up to where [`PathBuffer::enter`] was called.
    pub fn leave(&mut self, length: usize) {
        self.0.truncate(length);
        self.0[length - 1] = 0;
    }

    /// For the kernel.
    pub fn as_c_str(&self) -> &CStr {
        CStr::from_bytes_with_nul(&self.0).expect("names have no NUL")
    }

    /// For people.
    pub fn as_path(&self) -> &Path {
        Path::new(OsStr::from_bytes(self.as_c_str().to_bytes()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_grows_and_shrinks_in_place() {
        let mut path = PathBuffer::new(Path::new("/mnt"), 9);
        let room = path.0.capacity();
        let top = path.enter(b"abc");
        let inner = path.enter(b"defg");
        assert_eq!(path.as_c_str(), c"/mnt/abc/defg");
        path.leave(inner);
        assert_eq!(path.as_path(), Path::new("/mnt/abc"));
        path.leave(top);
        assert_eq!(path.as_c_str(), c"/mnt");
        assert_eq!(path.0.capacity(), room);
    }
}
