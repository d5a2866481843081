//! The table of files: twice as many slots as files at the start, as in the original.
//!
//! Which slot a new file takes and which one a draw hits decides every later draw, so the rules
//! are the original's. Only the search for a free slot is quicker: bits instead of slots are
//! looked at, which keeps its cost out of the timed region for large pools.

use crate::workload::mt19937::Mt19937;

/// A file as the model knows it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct File {
    /// Its name: the count of files created so far, this one included. Never used twice.
    pub number: u32,
    /// Index of its location; 0 when there are none.
    pub location: u32,
    /// Index of its subdirectory; 0 when there are none.
    pub subdirectory: u32,
    /// Length in bytes.
    pub size: u32,
}

/// Slots, some of which hold a file.
pub struct Pool {
    files: Box<[File]>,
    /// One bit per slot, set while the slot holds a file; bits past the last slot are set for good.
    taken: Box<[u64]>,
    /// No word before this one has a free bit.
    first_open: usize,
    /// The slot that the next file would like to take.
    next: usize,
    live: usize,
}

impl Pool {
    /// An empty pool with `slots` slots.
    pub fn new(slots: usize) -> Self {
        let mut taken = vec![0u64; slots.div_ceil(64)];
        if !slots.is_multiple_of(64) {
            taken[slots / 64] = !0 << (slots % 64);
        }
        Self {
            files: vec![File::default(); slots].into(),
            taken: taken.into(),
            first_open: 0,
            next: 0,
            live: 0,
        }
    }

    /// Whether no slot holds a file.
    pub fn is_empty(&self) -> bool {
        self.live == 0
    }

    /// The slot for a new file: the one after the last that was filled, if it is free, else the
    /// first free one. `None` when all are taken.
    pub fn vacancy(&mut self) -> Option<usize> {
        if self.next < self.files.len() && !self.is_taken(self.next) {
            return Some(self.next);
        }
        while *self.taken.get(self.first_open)? == !0 {
            self.first_open += 1;
        }
        Some(self.first_open * 64 + self.taken[self.first_open].trailing_ones() as usize)
    }

    /// Puts `file` into a free `slot`.
    pub fn put(&mut self, slot: usize, file: File) {
        debug_assert!(!self.is_taken(slot));
        self.files[slot] = file;
        self.taken[slot / 64] |= 1 << (slot % 64);
        self.next = slot + 1;
        self.live += 1;
    }

    /// A slot that holds a file, every file being equally likely: draws until one is hit.
    /// The pool must not be empty.
    pub fn pick(&self, random: &mut Mt19937) -> usize {
        debug_assert!(!self.is_empty());
        loop {
            let slot = random.below(self.files.len() as u32) as usize;
            if self.is_taken(slot) {
                return slot;
            }
        }
    }

    /// The file in a taken `slot`.
    pub fn file(&mut self, slot: usize) -> &mut File {
        debug_assert!(self.is_taken(slot));
        &mut self.files[slot]
    }

    /// Empties a taken `slot` and gives back its file.
    pub fn take(&mut self, slot: usize) -> File {
        debug_assert!(self.is_taken(slot));
        self.taken[slot / 64] &= !(1 << (slot % 64));
        self.first_open = self.first_open.min(slot / 64);
        self.live -= 1;
        self.files[slot]
    }

    /// Takes the first file at or after `slot`, in the order of the table, with its slot.
    pub fn take_from(&mut self, slot: usize) -> Option<(usize, File)> {
        let slot = (slot..self.files.len()).find(|&slot| self.is_taken(slot))?;
        Some((slot, self.take(slot)))
    }

    fn is_taken(&self, slot: usize) -> bool {
        self.taken[slot / 64] >> (slot % 64) & 1 == 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn full(slots: usize) -> Pool {
        let mut pool = Pool::new(slots);
        while let Some(slot) = pool.vacancy() {
            pool.put(
                slot,
                File {
                    number: slot as u32 + 1,
                    ..File::default()
                },
            );
        }
        pool
    }

    #[test]
    fn every_slot_is_filled_in_order_and_no_more() {
        for slots in [2, 63, 64, 65, 1000] {
            let mut pool = full(slots);
            assert_eq!(pool.live, slots);
            let numbers: Vec<u32> = std::iter::from_fn(|| pool.take_from(0))
                .map(|(_, file)| file.number)
                .collect();
            assert_eq!(numbers, (1..=slots as u32).collect::<Vec<_>>());
            assert!(pool.is_empty());
        }
    }

    #[test]
    fn a_new_file_follows_the_last_one_or_goes_to_the_first_gap() {
        let mut pool = full(200);
        for slot in [150, 70, 71, 130] {
            pool.take(slot);
        }
        let mut order = Vec::new();
        while let Some(slot) = pool.vacancy() {
            order.push(slot);
            pool.put(slot, File::default());
        }
        assert_eq!(order, [70, 71, 130, 150]);

        pool.take(72);
        pool.take(151);
        assert_eq!(
            pool.vacancy(),
            Some(151),
            "follows slot 150, though 72 is free"
        );
    }

    #[test]
    fn a_pick_redraws_until_it_hits_a_file() {
        let mut pool = Pool::new(1000);
        pool.put(544, File::default());
        let mut random = Mt19937::seeded_1999(42);
        assert_eq!(pool.pick(&mut random), 544);

        // The eighth number is the first that leaves 756 when divided by 1000.
        pool.take(544);
        pool.put(756, File::default());
        let mut random = Mt19937::seeded_1999(42);
        assert_eq!(pool.pick(&mut random), 756);
        let mut again = Mt19937::seeded_1999(42);
        let ninth = (0..9).map(|_| again.next_u32()).last();
        assert_eq!(Some(random.next_u32()), ninth);
    }
}
