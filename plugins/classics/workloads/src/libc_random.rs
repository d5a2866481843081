//! The random numbers of the GNU C library, written out: the sequences that some classic tools
//! draw are then the same with every C library.
//!
//! Algorithms: the additive feedback generator x³¹ + x³ + 1 of random(3) as BSD published it
//! (glibc `stdlib/random_r.c`, TYPE_3), and the three-step congruence of POSIX's example for
//! `rand_r` (glibc `stdlib/rand_r.c`).

const WORDS: usize = 31;
const SEPARATION: usize = 3;
const DISCARDED: usize = 10 * WORDS;

/// The sequence of `rand` after `srand(seed)`; without any srand the seed is 1.
pub struct Rand {
    state: [u32; WORDS],
    front: usize,
}

impl Rand {
    /// Starts the sequence of `seed`.
    pub fn new(seed: u32) -> Self {
        let mut state = [seed.max(1); WORDS];
        for index in 1..WORDS {
            // Signed, as in the original: large seeds are negative there.
            let product = 16_807 * i64::from(state[index - 1] as i32);
            state[index] = (product % 2_147_483_647).rem_euclid(2_147_483_647) as u32;
        }
        let mut rand = Self {
            state,
            front: SEPARATION,
        };
        for _ in 0..DISCARDED {
            rand.draw();
        }
        rand
    }

    /// The next number, 0 … 2³¹ − 1.
    #[inline]
    pub fn draw(&mut self) -> u32 {
        let rear = (self.front + WORDS - SEPARATION) % WORDS;
        let sum = self.state[self.front].wrapping_add(self.state[rear]);
        self.state[self.front] = sum;
        self.front = (self.front + 1) % WORDS;
        sum >> 1
    }
}

/// The sequence of `rand_r`.
pub struct RandR(pub u32);

impl RandR {
    /// The next number, 0 … 2³¹ − 1.
    #[inline]
    pub fn draw(&mut self) -> u32 {
        let high = self.step() % 2_048;
        let middle = self.step() % 1_024;
        let low = self.step() % 1_024;
        high << 20 ^ middle << 10 ^ low
    }

    #[inline]
    fn step(&mut self) -> u32 {
        self.0 = self.0.wrapping_mul(1_103_515_245).wrapping_add(12_345);
        self.0 / 65_536
    }
}

/// Sequences printed by a C program on glibc 2.36.
#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rand_is_the_one_of_glibc() {
        let mut rand = Rand::new(1);
        let drawn: Vec<u32> = (0..10_002).map(|_| rand.draw()).collect();
        let start = [1804289383, 846930886, 1681692777, 1714636915, 1957747793];
        assert_eq!(drawn[..5], start);
        assert_eq!(drawn[10_000..], [89057537, 1840048410]);
        assert_eq!(Rand::new(0).draw(), 1804289383, "zero counts as one");
        let mut rand = Rand::new(42);
        assert_eq!(
            [(); 3].map(|()| rand.draw()),
            [71876166, 708592740, 1483128881]
        );
    }

    #[test]
    fn rand_r_is_the_one_of_glibc() {
        for (seed, drawn) in [
            (42, [681191333, 928546885, 1457394273, 941445650]),
            (0, [1012484, 1716955679, 1792309082, 229610924]),
            (u32::MAX, [1670702726, 99100226, 931463008, 467940729]),
        ] {
            let mut rand = RandR(seed);
            assert_eq!([(); 4].map(|()| rand.draw()), drawn);
        }
    }
}
