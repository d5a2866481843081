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
    /// the beginning of the text once more, so that nobody can tell what a file should hold.
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

    /// The next `size_bytes` to be written to `file`, so many bytes `behind` the start of a write
    /// that begins at `start`.
    #[inline]
    pub fn piece(&mut self, file: &File, start: usize, behind: usize, size_bytes: usize) -> &[u8] {
        let position = start + behind;
        let place = self.place(file, position);
        match &mut self.stamped {
            Some(stamped) => stamped.span(place, size_bytes),
            None if self.goes_on => &self.text[position..position + size_bytes],
            None => &self.text[behind..behind + size_bytes],
        }
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
