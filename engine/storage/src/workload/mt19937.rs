//! MT19937, the 32-bit Mersenne Twister, behind the choices of PostMark and compilebench.
//!
//! Generator: M. Matsumoto and T. Nishimura, "Mersenne Twister", ACM TOMACS 8(1), 1998. PostMark
//! kept the first published seeding, compilebench has that of 2002, which Python uses; the
//! generator is written here because libraries offer only the latter.

use kit::mt64::following;

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

    /// The seeding of 2002 with a key of one or more words (`init_by_array` of the reference).
    pub fn from_key(key: &[u32]) -> Self {
        let mut state = Box::new([19_650_218; WORDS]);
        for i in 1..WORDS {
            state[i] = mixed(&state, i, 1_812_433_253).wrapping_add(i as u32);
        }
        let mut i = 1;
        for step in 0..WORDS.max(key.len()) {
            let j = step % key.len();
            state[i] = (state[i] ^ mixed(&state, i, 1_664_525))
                .wrapping_add(key[j])
                .wrapping_add(j as u32);
            i = following(&mut state[..], i);
        }
        for _ in 1..WORDS {
            state[i] = (state[i] ^ mixed(&state, i, 1_566_083_941)).wrapping_sub(i as u32);
            i = following(&mut state[..], i);
        }
        state[0] = 1 << 31;
        Self { state, next: WORDS }
    }

    /// The next number of the sequence.
    #[inline]
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
    #[inline]
    pub fn below(&mut self, bound: u32) -> u32 {
        if bound == 0 {
            return 0;
        }
        self.next_u32() % bound
    }

    /// Makes the next 624 words. Three stretches, so that no index wraps around inside a loop and
    /// the compiler can take several words at once.
    fn turn(&mut self) {
        let state = &mut self.state;
        for i in 0..WORDS - MIDDLE {
            state[i] = state[i + MIDDLE] ^ twisted(state[i], state[i + 1]);
        }
        for i in WORDS - MIDDLE..WORDS - 1 {
            state[i] = state[i + MIDDLE - WORDS] ^ twisted(state[i], state[i + 1]);
        }
        state[WORDS - 1] = state[MIDDLE - 1] ^ twisted(state[WORDS - 1], state[0]);
        self.next = 0;
    }
}

/// The upper bit of one word and the lower ones of the next, times the matrix of the generator.
#[inline]
fn twisted(word: u32, next: u32) -> u32 {
    let joined = word & UPPER_BIT | next & !UPPER_BIT;
    let odd = (joined & 1) * TWIST;
    joined >> 1 ^ odd
}

/// The word before `i`, its upper bits taken into the lower ones, times `factor`.
fn mixed(state: &[u32; WORDS], i: usize, factor: u32) -> u32 {
    let before = state[i - 1];
    (before ^ before >> 30).wrapping_mul(factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The start of the authors' own test output.
    #[test]
    fn the_authors_key_gives_their_sequence() {
        let mut random = Mt19937::from_key(&[0x123, 0x234, 0x345, 0x456]);
        let start: Vec<u32> = (0..5).map(|_| random.next_u32()).collect();
        let published = [1067595299, 955945823, 477289528, 4107218783, 4228976476];
        assert_eq!(start, published);
    }

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
