//! Walking over a message word by word, in either direction.

/// One step for every field: a writer puts the value into the message, a reader takes it out.
pub trait Words {
    /// A signed word.
    fn word(&mut self, value: &mut i32);

    /// Bytes as they are.
    fn bytes(&mut self, value: &mut [u8]);

    /// An unsigned word.
    fn unsigned(&mut self, value: &mut u32) {
        let mut word = *value as i32;
        self.word(&mut word);
        *value = word as u32;
    }

    /// A single-precision number: its bits are a word.
    fn float(&mut self, value: &mut f32) {
        let mut bits = value.to_bits();
        self.unsigned(&mut bits);
        *value = f32::from_bits(bits);
    }

    /// A double-precision number: two words, the high one first.
    fn double(&mut self, value: &mut f64) {
        let mut bits = value.to_bits();
        self.wide(&mut bits);
        *value = f64::from_bits(bits);
    }

    /// A number of 64 bits: two words, the high one first.
    fn wide(&mut self, value: &mut u64) {
        let (mut high, mut low) = ((*value >> 32) as u32, *value as u32);
        self.unsigned(&mut high);
        self.unsigned(&mut low);
        *value = u64::from(high) << 32 | u64::from(low);
    }

    /// A bit of `flags` that has a separate word.
    fn flag(&mut self, flags: &mut u32, bit: u32) {
        let mut word = i32::from(*flags & bit != 0);
        self.word(&mut word);
        *flags = if word == 0 {
            *flags & !bit
        } else {
            *flags | bit
        };
    }

    /// A word that we always write as `value`, and never look at.
    fn fixed(&mut self, value: i32) {
        let mut word = value;
        self.word(&mut word);
    }
}

/// Takes values out of a message; zeros behind its end.
pub struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    /// From the begin of `data`.
    pub fn new(data: &'a [u8]) -> Self {
        Self { rest: data }
    }
}

impl Words for Reader<'_> {
    fn word(&mut self, value: &mut i32) {
        let mut bytes = [0; 4];
        self.bytes(&mut bytes);
        *value = i32::from_be_bytes(bytes);
    }

    fn bytes(&mut self, value: &mut [u8]) {
        let length = value.len().min(self.rest.len());
        let (taken, rest) = self.rest.split_at(length);
        value.fill(0);
        value[..length].copy_from_slice(taken);
        self.rest = rest;
    }
}

/// Puts values into a message; those behind its end are lost.
pub struct Writer<'a> {
    rest: &'a mut [u8],
}

impl<'a> Writer<'a> {
    /// From the begin of `data`.
    pub fn new(data: &'a mut [u8]) -> Self {
        Self { rest: data }
    }
}

impl Words for Writer<'_> {
    fn word(&mut self, value: &mut i32) {
        self.bytes(&mut value.to_be_bytes());
    }

    fn bytes(&mut self, value: &mut [u8]) {
        let length = value.len().min(self.rest.len());
        let (place, rest) = std::mem::take(&mut self.rest).split_at_mut(length);
        place.copy_from_slice(&value[..length]);
        self.rest = rest;
    }
}

/// Two switches for systems that could receive or send without a copy. Linux is not one.
pub(super) fn avoid_copies<W: Words>(words: &mut W) {
    for _ in ["receive", "send"] {
        words.fixed(0);
    }
}
