//! What all threads start from where blocks must differ: everything but the stamps.

use std::io;
use std::process;
use std::sync::atomic::{AtomicU64, Ordering};

use super::stamped::{Stamped, PERIOD_BYTES, PERIOD_PAGES};
use super::{Shares, PAGE_BYTES};
use crate::buffers::Buffer;
use crate::mt64::Mt64;

/// Different duplicates: enough for them to lie 128 KiB apart even where all blocks are
/// duplicates, so that compressors do not find them too.
const DUPLICATES: usize = 32;
const SEED: u64 = 0x7374_616d;
/// Counts of the passes over a file start far apart: an odd part of 2²⁰.
const COUNT_STEP: u64 = 0x9_E377;

/// A period of blocks without stamps.
pub struct Base {
    /// A period, and behind it its beginning again, so that a record never wraps.
    memory: Buffer,
    /// Which blocks of a period are duplicates: spread evenly over it.
    duplicates: Box<[bool]>,
    /// Passes begun.
    passes: AtomicU64,
}

impl Base {
    /// Of which up to `span_bytes` can be taken at once.
    ///
    /// # Errors
    /// Out of memory.
    pub fn new(span_bytes: usize, shares: Shares) -> io::Result<Self> {
        let mut memory = Buffer::new(PERIOD_BYTES + span_bytes)?;
        let (period, rest) = memory.split_at_mut(PERIOD_BYTES);
        let before = |page: usize| (page as f64 * shares.dedupable) as usize;
        let is_duplicate = |page| before(page + 1) > before(page);
        let random_bytes = ((1.0 - shares.compressible) * PAGE_BYTES as f64).round() as usize;
        let mut twister = Mt64::new(SEED);
        let mut originals: Vec<Vec<u8>> = Vec::new();
        for (number, page) in period.chunks_mut(PAGE_BYTES).enumerate() {
            let original = originals.get(before(number) % DUPLICATES);
            if let Some(original) = original.filter(|_| is_duplicate(number)) {
                page.copy_from_slice(original);
                continue;
            }
            for word in page[..random_bytes].chunks_mut(8) {
                word.copy_from_slice(&twister.draw().to_le_bytes()[..word.len()]);
            }
            if is_duplicate(number) {
                originals.push(page.to_vec());
            }
        }
        for part in rest.chunks_mut(PERIOD_BYTES) {
            part.copy_from_slice(&period[..part.len()]);
        }
        Ok(Self {
            memory,
            duplicates: (0..PERIOD_PAGES).map(is_duplicate).collect(),
            passes: AtomicU64::new(0),
        })
    }

    /// What a thread writes to, and expects back from, file number `file` in one pass.
    ///
    /// # Errors
    /// Out of memory.
    pub fn stamped(&self, file: u32) -> io::Result<Stamped> {
        let mut memory = Buffer::new(self.memory.len())?;
        memory.copy_from_slice(&self.memory);
        let pass = self.passes.fetch_add(1, Ordering::Relaxed);
        // A process that was forked counts on from what its parent had counted.
        let count = pass
            .wrapping_mul(COUNT_STEP)
            .wrapping_add(process::id().into());
        Ok(Stamped::new(memory, self.duplicates.clone(), file, count))
    }

    /// The memory itself, without stamps.
    pub fn memory(&self) -> &[u8] {
        &self.memory
    }
}
