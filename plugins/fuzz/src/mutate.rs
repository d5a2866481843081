//! The next input: one that is known, changed in a few places.

use kit::splitmix::SplitMix;

/// Inputs do not grow beyond this, in bytes.
const LENGTH_MAX: usize = 8 << 10;
/// Values at the edges of what numbers can hold.
const EDGES: [u64; 9] = [
    0,
    1,
    0x7f,
    0xff,
    0x7fff_ffff,
    0x8000_0000,
    0xffff_ffff,
    1 << 63,
    u64::MAX,
];

/// A few changes to `input`. `tokens` are words that its reader knows, `other` is an input too.
pub fn mutate(input: &mut Vec<u8>, other: &[u8], tokens: &[&str], random: &mut SplitMix) {
    for _ in 0..=random.below(4) {
        change(input, other, tokens, random);
    }
    input.truncate(LENGTH_MAX);
}

fn change(input: &mut Vec<u8>, other: &[u8], tokens: &[&str], random: &mut SplitMix) {
    let mut below = |bound: usize| random.below(bound.max(1) as u64) as usize;
    let at = below(input.len() + 1);
    let end = (at + below(17)).min(input.len());
    match below(8) {
        0 if at < input.len() => input[at] ^= 1 << below(8),
        1 if at < input.len() => input[at] = below(256) as u8,
        2 => drop(input.drain(at..end)),
        3 => {
            let part = input[at..end].to_vec();
            input.splice(at..at, part);
        }
        4 => {
            let token = tokens.get(below(tokens.len())).copied().unwrap_or_default();
            input.splice(at..end, token.bytes());
        }
        5 => {
            let from = below(other.len() + 1);
            let to = (from + below(64)).min(other.len());
            input.splice(at..end, other[from..to].iter().copied());
        }
        6 => {
            // A word of the wire begins at a multiple of four.
            let bytes = EDGES[below(EDGES.len())].to_be_bytes();
            let at = at / 4 * 4;
            for (place, byte) in input.iter_mut().skip(at).zip(&bytes[4..]) {
                *place = *byte;
            }
        }
        _ => {
            let number = EDGES[below(EDGES.len())].to_string();
            let digit = |&index: &usize| input[index].is_ascii_digit();
            let first = (at..input.len()).find(digit).unwrap_or(at);
            let rest = (first..input.len()).find(|index| !digit(index));
            input.splice(first..rest.unwrap_or(input.len()), number.bytes());
        }
    }
}
