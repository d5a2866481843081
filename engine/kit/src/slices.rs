//! Time slices of a timed region, in a table that never grows.

/// Slices kept at most. When the table is full, neighbours are joined and slices become twice
/// as long, so that a region of any length fits.
const CAPACITY: usize = 2_048;

/// The work that ended inside one slice of time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Slice {
    /// End of the slice (inclusive), in ns since the timed region began.
    pub end_ns: u64,
    /// Operations that ended inside the slice.
    pub operations: u64,
    /// Their bytes.
    pub bytes: u64,
}

impl Slice {
    fn add(&mut self, other: &Slice) {
        self.operations += other.operations;
        self.bytes += other.bytes;
    }
}

/// The slices of one timed region.
#[derive(Clone)]
pub struct Slices {
    closed: Vec<Slice>,
    open: Slice,
    width_ns: u64,
    first_width_ns: u64,
}

impl Slices {
    /// An empty table of slices `width_ns` long; the only allocation it ever makes.
    pub fn new(width_ns: u64) -> Self {
        assert!(width_ns > 0, "a slice must have a length");
        Self {
            closed: Vec::with_capacity(CAPACITY),
            open: Slice {
                end_ns: width_ns,
                ..Slice::default()
            },
            width_ns,
            first_width_ns: width_ns,
        }
    }

    /// Forgets everything, keeps the memory.
    pub fn clear(&mut self) {
        self.closed.clear();
        self.width_ns = self.first_width_ns;
        self.open = Slice {
            end_ns: self.width_ns,
            ..Slice::default()
        };
    }

    /// Counts one operation that ended `elapsed_ns` after the region began.
    #[inline]
    pub fn add(&mut self, elapsed_ns: u64, bytes: u64) {
        if elapsed_ns > self.open.end_ns {
            self.advance(elapsed_ns);
        }
        self.open.operations += 1;
        self.open.bytes += bytes;
    }

    /// Adds the slices of another table, whose region began at the same instant with slices of
    /// the same length.
    pub fn merge(&mut self, other: &Slices) {
        while self.width_ns < other.width_ns {
            self.join_neighbours();
        }
        for slice in other.closed.iter().chain([&other.open]) {
            if slice.end_ns > self.open.end_ns {
                self.advance(slice.end_ns);
            }
            let index = (slice.end_ns - 1) / self.width_ns;
            match self.closed.get_mut(index as usize) {
                Some(closed) => closed.add(slice),
                None => self.open.add(slice),
            }
        }
    }

    /// All slices, the last one ending with the region.
    pub fn finish(&mut self, elapsed_ns: u64) -> Vec<Slice> {
        if elapsed_ns > self.open.end_ns {
            self.advance(elapsed_ns);
        }
        let last = Slice {
            end_ns: elapsed_ns,
            ..self.open
        };
        self.closed.iter().copied().chain([last]).collect()
    }

    #[cold]
    fn advance(&mut self, elapsed_ns: u64) {
        while elapsed_ns > self.open.end_ns {
            if self.closed.len() == CAPACITY {
                self.join_neighbours();
                continue;
            }
            self.closed.push(self.open);
            self.open = Slice {
                end_ns: self.open.end_ns + self.width_ns,
                ..Slice::default()
            };
        }
    }

    /// Twice the width; what has no partner among the closed slices joins the open one.
    fn join_neighbours(&mut self) {
        let pairs = self.closed.len() / 2;
        match self.closed.len() % 2 {
            0 => self.open.end_ns += self.width_ns,
            _ => self.open.add(&self.closed[2 * pairs]),
        }
        for index in 0..pairs {
            let mut joined = self.closed[2 * index + 1];
            joined.add(&self.closed[2 * index]);
            self.closed[index] = joined;
        }
        self.closed.truncate(pairs);
        self.width_ns *= 2;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_operation_belongs_to_the_slice_in_which_it_ended() {
        let mut slices = Slices::new(10);
        for elapsed_ns in [3, 9, 10, 35] {
            slices.add(elapsed_ns, 100);
        }
        let ends_and_counts: Vec<_> = slices
            .finish(38)
            .iter()
            .map(|slice| (slice.end_ns, slice.operations))
            .collect();
        assert_eq!(ends_and_counts, [(10, 3), (20, 0), (30, 0), (38, 1)]);
    }

    #[test]
    fn a_long_region_joins_slices_and_loses_nothing() {
        let mut slices = Slices::new(1);
        let operations = 5 * CAPACITY as u64;
        for elapsed_ns in 1..=operations {
            slices.add(elapsed_ns, 2);
        }
        let taken = slices.finish(operations);
        assert!(taken.len() <= CAPACITY + 1);
        assert_eq!(
            taken.iter().map(|slice| slice.operations).sum::<u64>(),
            operations
        );
        assert_eq!(
            taken.iter().map(|slice| slice.bytes).sum::<u64>(),
            2 * operations
        );
        assert!(taken.windows(2).all(|pair| pair[0].end_ns < pair[1].end_ns));
    }

    fn filled(instants_ns: impl IntoIterator<Item = u64>) -> Slices {
        let mut slices = Slices::new(1);
        for elapsed_ns in instants_ns {
            slices.add(elapsed_ns, 1);
        }
        slices
    }

    /// Tables of any two widths, as they come from threads that ended at different times.
    #[test]
    fn merging_is_counting_both_in_one_table() {
        let capacity = CAPACITY as u64;
        for (left, right) in [
            (1..=10, 5..=20),
            (1..=20, 5..=10),
            (1..=capacity, 3..=3 * capacity),
            (3..=5 * capacity, 1..=capacity + 7),
            (1..=9, 1..=5 * capacity),
        ] {
            let mut merged = filled(left.clone());
            merged.merge(&filled(right.clone()));
            let mut both: Vec<u64> = left.chain(right).collect();
            both.sort_unstable();
            let end_ns = *both.last().unwrap();
            assert_eq!(merged.finish(end_ns), filled(both).finish(end_ns));
        }
    }
}
