//! Names of files, made without allocating.
//!
//! Grammar of the original: a stamp in hexadecimal, of which the last digits are taken when it is
//! too long, and which is filled up with `~` when it is too short; then random digits and capital
//! letters. The stamp is the time of day in whole seconds, or here, by default, the number of the
//! loop, so that a trial can be repeated.

use std::collections::TryReserveError;
use std::io::Write;

use kit::mt64::Mt64;

const RANDOM: &[u8; 36] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
/// Random characters that one number of 64 bits is good for: 36¹² is a quarter of 2⁶⁴, and the
/// bias of the last characters is not one that a directory could notice.
const PER_DRAW: usize = 12;

/// Makes one name after another.
pub struct Names {
    random: Mt64,
    stamp_length: usize,
    random_characters: usize,
    name: Vec<u8>,
}

impl Names {
    /// Names of `length` characters, the last `random_characters` of them random.
    pub fn new(length: usize, random_characters: usize, key: &[u64]) -> Self {
        Self {
            random: Mt64::from_key(key),
            stamp_length: length - random_characters,
            random_characters,
            name: Vec::with_capacity(length),
        }
    }

    /// Draws a name that bears `stamp`.
    pub fn draw(&mut self, stamp: u64) {
        self.name.clear();
        self.write_stamp(stamp);
        let length = self.stamp_length + self.random_characters;
        while self.name.len() < length {
            let mut drawn = self.random.draw();
            for _ in 0..PER_DRAW.min(length - self.name.len()) {
                self.name.push(RANDOM[(drawn % 36) as usize]);
                drawn /= 36;
            }
        }
    }

    /// The name drawn last.
    pub fn name(&self) -> &[u8] {
        &self.name
    }

    fn write_stamp(&mut self, stamp: u64) {
        let room = self.stamp_length;
        let digits = (16 - stamp.leading_zeros() as usize / 4).max(1);
        let written = if digits <= room {
            write!(self.name, "{stamp:x}")
        } else if room > 0 {
            let last = stamp & ((1 << (4 * room)) - 1);
            write!(self.name, "{last:0room$x}")
        } else {
            Ok(())
        };
        written.expect("a vector takes whatever is written");
        self.name.resize(room, b'~');
    }
}

/// The names of the files that a thread has made, with their subdirectories.
pub struct Stock {
    name_length: usize,
    names: Vec<u8>,
    subdirectories: Vec<u32>,
}

impl Stock {
    /// None yet; all names are equally long.
    pub fn new(name_length: usize) -> Self {
        Self {
            name_length,
            names: Vec::new(),
            subdirectories: Vec::new(),
        }
    }

    /// Makes room for so many more files.
    ///
    /// # Errors
    /// Out of memory.
    pub fn reserve(&mut self, files: usize) -> Result<(), TryReserveError> {
        self.names.try_reserve(files * self.name_length)?;
        self.subdirectories.try_reserve(files)
    }

    /// Takes a file in.
    pub fn push(&mut self, name: &[u8], subdirectory: u32) {
        self.names.extend_from_slice(name);
        self.subdirectories.push(subdirectory);
    }

    /// Name and subdirectory of a file.
    pub fn get(&self, index: usize) -> (&[u8], u32) {
        let start = index * self.name_length;
        let name = &self.names[start..start + self.name_length];
        (name, self.subdirectories[index])
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.subdirectories.len()
    }

    /// Forgets all.
    pub fn clear(&mut self) {
        self.names.clear();
        self.subdirectories.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(length: usize, random: usize, stamp: u64) -> String {
        let mut names = Names::new(length, random, &[1]);
        names.draw(stamp);
        String::from_utf8(names.name().to_vec()).unwrap()
    }

    #[test]
    fn the_grammar_is_that_of_the_original() {
        // Observed with the original: 6b00d5db~~~~~~~~NS3CBOJT5ZY7S9IEJO90DBDS, d7ecE4X37Q0I.
        assert_eq!(drawn(40, 24, 0x6b00_d5db)[..16], *"6b00d5db~~~~~~~~");
        assert_eq!(drawn(12, 8, 0x6b00_d7ec)[..4], *"d7ec");
        assert_eq!(drawn(12, 8, 0x6b00_000c)[..4], *"000c");
        assert_eq!(drawn(3, 1, 0)[..2], *"0~");
        for (length, random) in [(40, 24), (12, 8), (10, 10), (255, 255)] {
            let name = drawn(length, random, 0x6b00_d5db);
            assert_eq!(name.len(), length);
            let is_random = |byte: u8| byte.is_ascii_digit() || byte.is_ascii_uppercase();
            assert!(name.bytes().skip(length - random).all(is_random), "{name}");
        }
    }

    #[test]
    fn every_random_character_is_drawn_about_as_often() {
        let mut names = Names::new(24, 24, &[7, 0]);
        let mut counts = [0_u32; 256];
        for _ in 0..1_500 {
            names.draw(0);
            for &byte in names.name() {
                counts[usize::from(byte)] += 1;
            }
        }
        // 1,000 of each; five standard deviations are 156.
        let seen = RANDOM.iter().map(|&byte| counts[usize::from(byte)]);
        assert!(
            seen.clone().all(|count| count.abs_diff(1_000) < 156),
            "{counts:?}"
        );
        assert_eq!(seen.sum::<u32>(), 36_000);
    }

    #[test]
    fn drawing_does_not_outgrow_the_buffer() {
        let mut names = Names::new(40, 24, &[1]);
        let room = names.name.capacity();
        (0..100).for_each(|stamp| names.draw(stamp << 40));
        assert_eq!(names.name.capacity(), room);
    }

    #[test]
    fn a_stock_gives_back_what_it_took() {
        let mut stock = Stock::new(2);
        stock.reserve(2).unwrap();
        assert!(Stock::new(255).reserve(1 << 54).is_err());
        stock.push(b"ab", 0);
        stock.push(b"cd", 7);
        assert_eq!(
            (stock.get(0), stock.get(1)),
            ((&b"ab"[..], 0), (&b"cd"[..], 7))
        );
        assert_eq!(stock.len(), 2);
        stock.clear();
        assert_eq!(stock.len(), 0);
    }
}
