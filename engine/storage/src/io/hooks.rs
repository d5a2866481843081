//! What is done around each record besides moving it.

use std::io;

use kit::content::Stamped;
use kit::Content;

/// A range of a file, in bytes; of size 0 it extends to the end, however far that is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Range {
    /// Where it begins.
    pub offset: u64,
    /// Its length.
    pub size_bytes: u64,
}

impl Range {
    /// The whole file.
    pub const ALL: Range = Range {
        offset: 0,
        size_bytes: 0,
    };
}

/// What surrounds the records of a file `F`.
pub trait RecordHooks<F> {
    /// Computes for a while; whether it did. This time is not the test's.
    #[inline(always)]
    fn think(&mut self) -> bool {
        false
    }

    /// How long [`RecordHooks::think`] took altogether, in ns.
    fn thought_ns(&self) -> u64 {
        0
    }

    /// Before `range` is moved, inside the timed region.
    fn before(&mut self, file: &mut F, range: Range, is_write: bool) -> io::Result<()>;

    /// After it was moved, inside the timed region.
    #[inline(always)]
    fn after(&mut self, _file: &mut F, _range: Range) -> io::Result<()> {
        Ok(())
    }

    /// The bytes to write as record `index`; `spare` has room for them.
    fn outgoing<'b>(&'b self, index: u64, spare: &'b mut [u8]) -> &'b [u8];

    /// Compares what was read as record `index`. Gives a sum over the words that were looked at,
    /// or the number of the first page that is not what was written.
    fn check(&self, index: u64, found: &[u8]) -> Result<u64, usize>;
}

/// What is looked at of each record that was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Check {
    /// Nothing.
    Nothing,
    /// The first word is added to the checksum, so that no read can be elided.
    FirstWord,
    /// A word per page is compared with what was written, and added to the checksum.
    Pages,
}

impl Check {
    /// Pages where records are to be verified; otherwise `less`.
    pub fn pages_if(verify: bool, less: Check) -> Check {
        if verify {
            Check::Pages
        } else {
            less
        }
    }
}

/// Contents made beforehand, and nothing around the records.
pub struct NoHooks<'a> {
    /// What is written, and expected back.
    pub content: &'a Content,
    /// What of it the thread writes where blocks must differ.
    pub stamped: Option<&'a mut Stamped>,
    /// Whether what is written must stay while the next record is stamped.
    pub stays: bool,
    /// What is looked at of the records read.
    pub check: Check,
}

impl<'a> NoHooks<'a> {
    /// For records that are those of `content`, one at a time.
    pub fn new(content: &'a Content, check: Check) -> Self {
        Self {
            content,
            stamped: None,
            stays: false,
            check,
        }
    }
}

impl<F> RecordHooks<F> for NoHooks<'_> {
    #[inline(always)]
    fn before(&mut self, _: &mut F, range: Range, is_write: bool) -> io::Result<()> {
        if let (Some(stamped), true) = (&mut self.stamped, is_write) {
            stamped.stamp(range.offset, range.size_bytes as usize);
        }
        Ok(())
    }

    #[inline(always)]
    fn outgoing<'b>(&'b self, index: u64, spare: &'b mut [u8]) -> &'b [u8] {
        match &self.stamped {
            None => self.content.record(index),
            Some(stamped) => {
                let bytes = stamped.stamped(index * spare.len() as u64, spare.len());
                if !self.stays {
                    return bytes;
                }
                spare.copy_from_slice(bytes);
                spare
            }
        }
    }

    #[inline(always)]
    fn check(&self, index: u64, found: &[u8]) -> Result<u64, usize> {
        match self.check {
            Check::Nothing => Ok(0),
            Check::FirstWord => Ok(found
                .first_chunk()
                .map_or(0, |word| u64::from_le_bytes(*word))),
            Check::Pages => self.content.verify(self.stamped.as_deref(), found, index),
        }
    }
}
