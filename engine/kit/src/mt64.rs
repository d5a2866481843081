//! MT19937-64, the 64-bit Mersenne Twister (Nishimura and Matsumoto, 2000): the generator behind
//! IOzone's record order, and so behind ours.

const WORDS: usize = 312;
const MIDDLE: usize = 156;
const UPPER_MASK: u64 = 0xFFFF_FFFF_8000_0000;
const LOWER_MASK: u64 = 0x7FFF_FFFF;
const MATRIX: u64 = 0xB502_6F5A_A966_19E9;

/// The generator's state.
pub struct Mt64 {
    state: [u64; WORDS],
    next: usize,
}

impl Mt64 {
    /// Seeds with one word.
    pub fn new(seed: u64) -> Self {
        let mut state = [seed; WORDS];
        for i in 1..WORDS {
            let before = state[i - 1];
            state[i] = 6_364_136_223_846_793_005_u64
                .wrapping_mul(before ^ (before >> 62))
                .wrapping_add(i as u64);
        }
        Self { state, next: WORDS }
    }

    /// Seeds with a key of several words (`init_by_array64` of the reference).
    pub fn from_key(key: &[u64]) -> Self {
        let mut twister = Self::new(19_650_218);
        let state = &mut twister.state;
        let mut i = 1;
        for step in 0..WORDS.max(key.len()) {
            let j = step % key.len();
            let mixed =
                (state[i - 1] ^ (state[i - 1] >> 62)).wrapping_mul(3_935_559_000_370_003_845);
            state[i] = (state[i] ^ mixed)
                .wrapping_add(key[j])
                .wrapping_add(j as u64);
            i = following(state, i);
        }
        for _ in 1..WORDS {
            let mixed =
                (state[i - 1] ^ (state[i - 1] >> 62)).wrapping_mul(2_862_933_555_777_941_757);
            state[i] = (state[i] ^ mixed).wrapping_sub(i as u64);
            i = following(state, i);
        }
        state[0] = 1 << 63;
        twister
    }

    /// The next number, uniform over all 64-bit values.
    pub fn draw(&mut self) -> u64 {
        if self.next == WORDS {
            self.refill();
        }
        let mut drawn = self.state[self.next];
        self.next += 1;
        drawn ^= (drawn >> 29) & 0x5555_5555_5555_5555;
        drawn ^= (drawn << 17) & 0x71D6_7FFF_EDA6_0000;
        drawn ^= (drawn << 37) & 0xFFF7_EEE0_0000_0000;
        drawn ^ (drawn >> 43)
    }

    fn refill(&mut self) {
        for i in 0..WORDS {
            let joined = (self.state[i] & UPPER_MASK) | (self.state[(i + 1) % WORDS] & LOWER_MASK);
            let twist = if joined & 1 == 1 { MATRIX } else { 0 };
            self.state[i] = self.state[(i + MIDDLE) % WORDS] ^ (joined >> 1) ^ twist;
        }
        self.next = 0;
    }
}

/// The index after `i`; past the end the last word is carried to the front, as the reference does.
/// The twister of 32 bits is seeded alike.
pub fn following<T: Copy>(state: &mut [T], i: usize) -> usize {
    if i + 1 < state.len() {
        return i + 1;
    }
    state[0] = state[i];
    1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gives_the_published_sequence() {
        let mut twister = Mt64::from_key(&[0x12345, 0x23456, 0x34567, 0x45678]);
        assert_eq!(twister.draw(), 7_266_447_313_870_364_031);
        assert_eq!(twister.draw(), 4_946_485_549_665_804_864);
        // The reference prints 1,000 numbers; the last one crosses three refills.
        let last = (2..1_000).map(|_| twister.draw()).last();
        assert_eq!(last, Some(994_412_663_058_993_407));
    }
}
