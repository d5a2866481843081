//! What files hold, and whether they hold it still.

use kit::content::{Stamped, PAGE_BYTES};
use kit::failure::no_memory;
use kit::Content;
use wire::Failure;

use super::pool::File;

/// The bytes of all files.
pub struct Text {
    /// As long as a file may get.
    text: Box<[u8]>,
    /// What is written in its place where blocks must differ.
    stamped: Option<Stamped>,
    /// Whether what is appended goes on in the text where the file ends; in the original it is
    /// the beginning of the text once more, so that the expected content of a file is unknown.
    goes_on: bool,
}

impl Text {
    /// For the files of thread `thread`: `text`, or what `mixed` has for them.
    ///
    /// # Errors
    /// `HostLacks` memory.
    pub fn new(
        text: Box<[u8]>,
        mixed: Option<&Content>,
        thread: u32,
        verify: bool,
    ) -> Result<Self, Failure> {
        let stamped = mixed.map(|content| content.stamped(thread));
        Ok(Self {
            text,
            stamped: stamped.transpose().map_err(no_memory)?.flatten(),
            goes_on: verify,
        })
    }

    /// Length of the longest file.
    pub fn longest(&self) -> usize {
        self.text.len()
    }

    /// The `size_bytes` of a write that begins at `start` of a file, where they are made
    /// beforehand.
    #[inline]
    pub fn plain(&self, start: usize, size_bytes: usize) -> Option<&[u8]> {
        let start = if self.goes_on { start } else { 0 };
        let is_plain = self.stamped.is_none();
        is_plain.then(|| &self.text[start..start + size_bytes])
    }

    /// The next `size_bytes` to be written to `file` at `position`, where blocks must differ.
    pub fn piece(&mut self, file: &File, position: usize, size_bytes: usize) -> &[u8] {
        let place = self.place(file, position);
        let stamped = self.stamped.as_mut();
        stamped.expect("it is not plain").span(place, size_bytes)
    }

    /// Whether `found` is what was written to `file` at `position`.
    pub fn holds(&self, file: &File, position: usize, found: &[u8]) -> bool {
        match &self.stamped {
            Some(stamped) => {
                let place = self.place(file, position);
                stamped.verify_every_byte(found, place).is_ok()
            }
            None => found == &self.text[position..position + found.len()],
        }
    }

    /// Where a byte of a file lies among those of all files, which begin with a block each.
    fn place(&self, file: &File, position: usize) -> u64 {
        let file_bytes = self.text.len().next_multiple_of(PAGE_BYTES);
        u64::from(file.number) * file_bytes as u64 + position as u64
    }
}
