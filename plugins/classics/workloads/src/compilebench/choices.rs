//! The random choices, drawn as Python's `random` module draws them: with the same seed they are
//! those of the original.

use storage::workload::mt19937::Mt19937;

/// A sequence of choices.
pub struct Choices(Mt19937);

impl Choices {
    /// The sequence that begins with `seed`.
    pub fn seeded(seed: u32) -> Self {
        Self(Mt19937::from_key(&[seed]))
    }

    /// A number in 0 … 1 with 53 bits, 1 excluded.
    pub fn share(&mut self) -> f64 {
        let upper = f64::from(self.0.next_u32() >> 5);
        let lower = f64::from(self.0.next_u32() >> 6);
        (upper * 67_108_864.0 + lower) / 9_007_199_254_740_992.0
    }

    /// A number in `0..bound`.
    pub fn below(&mut self, bound: usize) -> usize {
        (self.share() * bound as f64) as usize
    }

    /// One of `values`, of which there is at least one.
    pub fn one_of<T: Copy>(&mut self, values: &[T]) -> T {
        values[self.below(values.len())]
    }

    /// Puts `values` into random order, from the last to the second.
    pub fn shuffle<T>(&mut self, values: &mut [T]) {
        for last in (1..values.len()).rev() {
            let other = self.below(last + 1);
            values.swap(last, other);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What Python answers after `random.seed(555)`.
    #[test]
    fn the_sequence_is_that_of_python() {
        let mut choices = Choices::seeded(555);
        let drawn = [(); 3].map(|()| choices.share());
        assert_eq!(drawn, PYTHON_555);

        let mut values: Vec<u32> = (0..10).collect();
        Choices::seeded(555).shuffle(&mut values);
        assert_eq!(values, PYTHON_555_SHUFFLED);
    }

    const PYTHON_555: [f64; 3] = [0.19334525074470776, 0.1610558787597327, 0.5612225436326006];
    const PYTHON_555_SHUFFLED: [u32; 10] = [5, 8, 3, 7, 2, 0, 6, 4, 9, 1];
}
