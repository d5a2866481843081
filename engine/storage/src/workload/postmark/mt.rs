//! The random numbers of PostMark: MT19937 with the seeding of 1999.
//!
//! Generator: M. Matsumoto and T. Nishimura, "Mersenne Twister", ACM TOMACS 8(1), 1998. PostMark
//! kept the first published seeding, not the one of 2002 that libraries offer today, so the
//! generator is written here.

const WORDS: usize = 624;
const MIDDLE: usize = 397;
const UPPER_BIT: u32 = 0x8000_0000;
const TWIST: u32 = 0x9908_b0df;

/// A 32-bit Mersenne Twister.
pub struct Mt19937 {
    state: Box<[u32; WORDS]>,
    next: usize,
}

impl Mt19937 {
    /// Each word takes the upper halves of two successive steps of a linear congruence.
    pub fn seeded_1999(seed: u32) -> Self {
        let mut congruence = seed;
        let mut upper_half = || {
            let half = congruence >> 16;
            congruence = congruence.wrapping_mul(69069).wrapping_add(1);
            half
        };
        let mut state = Box::new([0; WORDS]);
        for word in state.iter_mut() {
            *word = upper_half() << 16 | upper_half();
        }
        Self { state, next: WORDS }
    }

    /// The next number of the sequence.
    pub fn next_u32(&mut self) -> u32 {
        if self.next == WORDS {
            self.turn();
        }
        let mut word = self.state[self.next];
        self.next += 1;
        word ^= word >> 11;
        word ^= word << 7 & 0x9d2c_5680;
        word ^= word << 15 & 0xefc6_0000;
        word ^ word >> 18
    }

    /// A number in `0..bound` by plain remainder, its bias kept because the sequence is the
    /// contract. A bound of zero gives zero and draws nothing.
    pub fn below(&mut self, bound: u32) -> u32 {
        if bound == 0 {
            return 0;
        }
        self.next_u32() % bound
    }

    fn turn(&mut self) {
        for i in 0..WORDS {
            let joined = self.state[i] & UPPER_BIT | self.state[(i + 1) % WORDS] & !UPPER_BIT;
            let odd = if joined & 1 == 1 { TWIST } else { 0 };
            self.state[i] = self.state[(i + MIDDLE) % WORDS] ^ joined >> 1 ^ odd;
        }
        self.next = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seed_42_gives_the_sequence_of_1999() {
        let mut random = Mt19937::seeded_1999(42);
        let sequence: Vec<u32> = (0..20_004).map(|_| random.next_u32()).collect();
        let start = [
            4179544424, 615236124, 4165290828, 3119652344, 1623863471, 605280572, 1209526912,
            2753559756,
        ];
        assert_eq!(sequence[..8], start);
        assert_eq!(
            sequence[20_000..],
            [4228792890, 257796232, 1953659083, 688224007]
        );
    }

    #[test]
    fn a_bound_of_zero_draws_nothing() {
        let mut random = Mt19937::seeded_1999(42);
        assert_eq!(random.below(0), 0);
        assert_eq!(random.below(10), 4179544424 % 10);
    }
}
