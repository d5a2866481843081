//! What is noted while the clock runs.

use kit::failure::no_memory;
use kit::Buffer;
use wire::Failure;

/// What one operation takes in memory: two numbers of 64 bits.
pub const ENTRY_BYTES: u64 = 16;

/// One operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry {
    /// How long it took.
    pub latency_ns: u64,
    /// What it moved.
    pub bytes: u64,
}

/// Notes of the operations of one pass, in memory that a process has in common with its parent.
pub struct OperationLog {
    memory: Buffer,
    used_bytes: usize,
}

impl OperationLog {
    /// With room for so many operations, at least one.
    ///
    /// # Errors
    /// `HostLacks` memory.
    pub fn new(operations: u64) -> Result<Self, Failure> {
        let size_bytes = (operations * ENTRY_BYTES) as usize;
        Ok(Self {
            memory: Buffer::shared(size_bytes).map_err(no_memory)?,
            used_bytes: 0,
        })
    }

    /// Forgets the last pass, and touches all memory: a process has it mapped only then.
    pub fn clear(&mut self) {
        self.memory.fill(0);
        self.used_bytes = 0;
    }

    /// Notes the next operation.
    #[inline]
    pub fn note(&mut self, entry: Entry) {
        let end = self.used_bytes + ENTRY_BYTES as usize;
        let place = &mut self.memory[self.used_bytes..end];
        place[..8].copy_from_slice(&entry.latency_ns.to_ne_bytes());
        place[8..].copy_from_slice(&entry.bytes.to_ne_bytes());
        self.used_bytes = end;
    }

    /// The first so many operations of the last pass.
    pub fn entries(&self, operations: u64) -> impl Iterator<Item = Entry> + '_ {
        let places = self.memory.chunks_exact(ENTRY_BYTES as usize);
        let number = |part: &[u8]| u64::from_ne_bytes(part.try_into().expect("eight bytes"));
        places.take(operations as usize).map(move |place| Entry {
            latency_ns: number(&place[..8]),
            bytes: number(&place[8..]),
        })
    }
}
