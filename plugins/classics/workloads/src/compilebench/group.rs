//! A group of trees, in the order in which the original would list it.
//!
//! The original keeps its trees in dictionaries of Python 2 and chooses from the list of their
//! keys, whose order is that of the hash table. It has to be kept the same way here, or equal
//! draws would hit other trees. Table, probing and growth are those of CPython 2.7
//! (`Objects/dictobject.c`, `Objects/stringobject.c`), for keys `kernel-<number>` on a 64-bit
//! machine.

const SMALLEST_TABLE: usize = 8;
const PERTURB_SHIFT: u32 = 5;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Slot {
    Empty,
    /// Held a tree once; a search goes on behind it.
    Left,
    Tree(u32),
}

/// A set of trees.
pub struct Group {
    slots: Vec<Slot>,
    /// Slots that hold a tree.
    used: usize,
    /// Slots that hold one or held one once.
    filled: usize,
}

impl Group {
    /// A group without trees.
    pub fn new() -> Self {
        Self {
            slots: vec![Slot::Empty; SMALLEST_TABLE],
            used: 0,
            filled: 0,
        }
    }

    /// Whether it has no trees.
    pub fn is_empty(&self) -> bool {
        self.used == 0
    }

    /// Its trees, in the order of the table.
    pub fn trees(&self) -> Vec<u32> {
        let held = self.slots.iter().filter_map(|slot| match slot {
            Slot::Tree(tree) => Some(*tree),
            Slot::Empty | Slot::Left => None,
        });
        held.collect()
    }

    /// Adds a tree that is not there yet.
    pub fn add(&mut self, tree: u32) {
        let slot = self.vacancy(tree);
        if self.slots[slot] == Slot::Empty {
            self.filled += 1;
        }
        self.slots[slot] = Slot::Tree(tree);
        self.used += 1;
        if 3 * self.filled >= 2 * self.slots.len() {
            self.rebuild();
        }
    }

    /// Takes a tree out that is there.
    pub fn remove(&mut self, tree: u32) {
        let found = self.slots.iter().position(|slot| *slot == Slot::Tree(tree));
        let slot = found.expect("only trees that are there are removed");
        self.slots[slot] = Slot::Left;
        self.used -= 1;
    }

    /// The slot that a new tree takes: the first one left, else the first empty one on its way.
    fn vacancy(&self, tree: u32) -> usize {
        let mask = self.slots.len() as u64 - 1;
        let hash = hash_of_name(tree);
        let (mut probe, mut perturb) = (hash & mask, hash);
        let mut left = None;
        loop {
            let slot = (probe & mask) as usize;
            match self.slots[slot] {
                Slot::Empty => return left.unwrap_or(slot),
                Slot::Left => left = left.or(Some(slot)),
                Slot::Tree(_) => {}
            }
            probe = probe.wrapping_mul(5).wrapping_add(perturb).wrapping_add(1);
            perturb >>= PERTURB_SHIFT;
        }
    }

    fn rebuild(&mut self) {
        let trees = self.trees();
        let mut size = SMALLEST_TABLE;
        while size <= 4 * self.used {
            size *= 2;
        }
        self.slots = vec![Slot::Empty; size];
        self.filled = self.used;
        for tree in trees {
            let slot = self.vacancy(tree);
            self.slots[slot] = Slot::Tree(tree);
        }
    }
}

/// Python 2's hash of the name of a tree.
fn hash_of_name(tree: u32) -> u64 {
    let name = name_of(tree);
    let start = u64::from(name.as_bytes()[0]) << 7;
    let hash = name.bytes().fold(start, |hash, byte| {
        hash.wrapping_mul(1_000_003) ^ u64::from(byte)
    });
    hash ^ name.len() as u64
}

/// Name of the directory of a tree.
pub fn name_of(tree: u32) -> String {
    format!("kernel-{tree}")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What Python 2.7.18 answers.
    #[test]
    fn hashes_are_those_of_python() {
        assert_eq!(hash_of_name(0), 0x3f130699da3e4e50);
        assert_eq!(hash_of_name(7), 0x3f130699da3e4e57);
        assert_eq!(hash_of_name(31337), 0xfd00101238ff6265);
    }

    /// The orders in which Python 2.7.18 lists the same keys.
    #[test]
    fn trees_are_listed_in_the_order_of_python() {
        let mut group = Group::new();
        (0..30).for_each(|tree| group.add(tree));
        let all = [
            27, 26, 25, 24, 23, 22, 21, 20, 29, 28, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 13, 10, 11,
            16, 17, 14, 15, 18, 19,
        ];
        assert_eq!(group.trees(), all);

        (0..30).step_by(2).for_each(|tree| group.remove(tree));
        for tree in [31_337, 100, 4_711, 4] {
            group.add(tree);
        }
        let some = [
            100, 27, 25, 23, 21, 29, 1, 3, 4, 5, 7, 9, 31337, 13, 4711, 11, 17, 15, 19,
        ];
        assert_eq!(group.trees(), some);

        (200..240).for_each(|tree| group.add(tree));
        let start = [200, 201, 202, 203, 204, 205, 206, 207, 208, 209, 224, 100];
        assert_eq!(group.trees()[..12], start);
    }
}
