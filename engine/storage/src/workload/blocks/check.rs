//! Whether a block was moved in full and, where it was read, is the one expected.

use std::io;

use kit::content::Stamped;

use super::Work;
use crate::fault::Fault;

/// All of the block was moved.
#[inline(always)]
pub fn whole(moved: io::Result<usize>, block: u64, block_bytes: usize) -> Result<(), Fault> {
    match moved {
        Ok(moved) if moved == block_bytes => Ok(()),
        Ok(moved) => Err(Fault::Short {
            record: block,
            moved,
        }),
        Err(error) => Err(Fault::Io {
            record: block,
            error,
        }),
    }
}

/// What a block read adds to the checksum: its first word or, where blocks are verified, a word
/// per page. Blocks that must differ are `stamped`. Nothing can be said of one that did not move.
#[inline(always)]
pub fn found(
    found: &[u8],
    block: u64,
    work: &Work,
    stamped: Option<&Stamped>,
    moves_data: bool,
) -> Result<u64, Fault> {
    if !work.verify {
        return Ok(found
            .first_chunk()
            .map_or(0, |word| u64::from_le_bytes(*word)));
    }
    match work.content.verify(stamped, found, block) {
        Ok(sum) => Ok(sum),
        Err(page) if moves_data => Err(Fault::Differs {
            record: block,
            page,
        }),
        Err(_) => Ok(0),
    }
}

/// The kernel tells why a write was cut short when it is asked for the `rest`.
#[cold]
pub fn why_short(short: Fault, rest: impl FnOnce(usize) -> io::Result<usize>) -> Fault {
    match short {
        Fault::Short { record, moved } => match rest(moved) {
            Ok(_) => Fault::Short { record, moved },
            Err(error) => Fault::Io { record, error },
        },
        other => other,
    }
}
