//! Where a device is looked at before it counts as blank.
//!
//! Up to a size all of it is read, and of a loop device all that its file has data for, as far as that
//! is no more. Of anything larger a sample is read: both ends, every place at which a file system or a
//! volume manager keeps a copy of its label, and some thousand blocks over the whole of it, one at a
//! random place of each equal part. The random numbers come from the size, so that the same places are
//! made blank after a turn that are looked at before the next one.
//!
//! Sources: ext4 layout (sparse_super: groups that are powers of 3, 5 and 7), XFS (allocation groups),
//! btrfs (mirrors at 64 MiB and 256 GiB), OCFS2 (backups at 1 GiB and powers of 4 of it), NTFS (the
//! middle). GPT, md, ZFS, LVM, LUKS, bcache, NILFS2, HFS+ and bcachefs keep theirs in the first or last
//! mebibyte, or in the first 16.

use std::collections::BTreeSet;
use std::fs::File;
use std::io;
use std::os::unix::fs::MetadataExt;

use rustix::fs::{seek, SeekFrom};

use super::identity::{backing_file, entry_of, node_of, number};
use super::ranges::{range_of, Base};

pub const END_BYTES: u64 = 1 << 20;
/// As much is read whole.
const FULL_BYTES: u64 = 1 << 30;
const SAMPLES: u64 = 4096;
const BLOCK_BYTES: u64 = 4096;
/// Read of what is larger; LUKS2 keeps the copy of its header and its keys there.
const HEAD_BYTES: u64 = 16 << 20;
const MIRRORS: [u64; 2] = [64 << 20, 256 << 30];
/// Groups of XFS are equal, but for the last one, and at most so large.
const LARGEST_GROUP: u64 = 1 << 40;

/// From, to.
pub type Part = (u64, u64);

/// First and last mebibyte, the smaller device being one part.
pub fn ends(bytes: u64) -> Vec<Part> {
    match bytes <= 2 * END_BYTES {
        true => vec![(0, bytes)],
        false => vec![(0, END_BYTES), (bytes - END_BYTES, bytes)],
    }
}

/// The parts of an open device that are read, in order.
///
/// # Errors
/// It is gone.
pub fn looked_at(file: &File, bytes: u64) -> io::Result<Vec<Part>> {
    let data = data_of(file)?.unwrap_or_else(|| vec![(0, bytes)]);
    Ok(
        match data.iter().map(|(start, end)| end - start).sum::<u64>() {
            little if little <= FULL_BYTES => data,
            _ => shared(&data, &sampled(bytes)),
        },
    )
}

/// Of a loop device what its file has no hole for; `None` where that is not known.
///
/// # Errors
/// It is gone.
pub fn data_of(file: &File) -> io::Result<Option<Vec<Part>>> {
    let place = number(file.metadata()?.rdev());
    let behind = range_of(&place)?;
    let entry = entry_of(&place).ok_or(io::ErrorKind::NotFound)?;
    let (Some(image), Base::File(device, inode)) = (backing_file(&node_of(&entry)), behind.base)
    else {
        return Ok(None);
    };
    let Ok(below) = File::open(image) else {
        return Ok(None);
    };
    let found = below.metadata()?;
    if (found.dev(), found.ino()) != (device, inode) {
        return Ok(None);
    }
    let parts = written(&below, behind.start, behind.end)?;
    let parts = parts.into_iter();
    Ok(Some(
        parts
            .map(|(start, end)| (start - behind.start, end - behind.start))
            .collect(),
    ))
}

/// The sample of a device of a size, in order, without overlaps.
fn sampled(bytes: u64) -> Vec<Part> {
    let mut chance = Twister::seeded(bytes);
    let step = bytes as f64 / SAMPLES as f64;
    let spread = (0..SAMPLES).map(|number| (step * (number as f64 + chance.fraction())) as u64);
    let places = spread.chain(labels(bytes)).filter(|at| *at < bytes);
    let starts: BTreeSet<u64> = places.map(|at| at - at % BLOCK_BYTES).collect();
    let blocks = starts
        .into_iter()
        .map(|at| (at, (at + BLOCK_BYTES).min(bytes)));
    let mut parts = ends(bytes);
    parts.push((0, HEAD_BYTES));
    parts.extend(blocks);
    joined(parts)
}

/// Where copies of labels are.
fn labels(bytes: u64) -> Vec<u64> {
    let mut found = MIRRORS.to_vec();
    found.push(bytes / 2);
    let powers = (20..u64::BITS).map(|power| 1 << power);
    found.extend(powers.take_while(|power| *power <= bytes));
    for block in [1024, 2048, 4096, 65536_u64] {
        let group_bytes = 8 * block * block;
        let first = if block == 1024 { block } else { 0 };
        let last = bytes / group_bytes;
        for base in [3, 5, 7] {
            let groups = std::iter::successors(Some(1), |group| Some(group * base));
            let groups = groups.take_while(|group| *group <= last);
            found.extend(groups.map(|group| group * group_bytes + first));
        }
        let ends = [last.saturating_sub(1), last].into_iter();
        let ends = ends.filter(|group| *group > 0);
        found.extend(ends.map(|group| group * group_bytes + first));
    }
    let blocks = bytes / BLOCK_BYTES;
    for groups in [2, 4, 8, 16, 32] {
        for size in [blocks.div_ceil(groups), blocks / groups] {
            found.extend((1..groups).map(|group| size * BLOCK_BYTES * group));
        }
    }
    found.extend((LARGEST_GROUP..bytes).step_by(LARGEST_GROUP as usize));
    found
}

/// Parts of a file that are no holes; the rest reads as zeros.
fn written(file: &File, from: u64, end: u64) -> io::Result<Vec<Part>> {
    let (mut found, mut start) = (Vec::new(), from);
    while start < end {
        // An error: nothing more.
        let Ok(data) = seek(file, SeekFrom::Data(start)) else {
            break;
        };
        let hole = seek(file, SeekFrom::Hole(data))?.min(end);
        if data < hole {
            found.push((data, hole));
        }
        start = hole.max(data);
    }
    Ok(found)
}

/// In order, those that touch as one.
fn joined(mut parts: Vec<Part>) -> Vec<Part> {
    parts.sort_unstable();
    let mut found: Vec<Part> = Vec::new();
    for (start, end) in parts.into_iter().filter(|(start, end)| start < end) {
        match found.last_mut() {
            Some(last) if start <= last.1 => last.1 = last.1.max(end),
            _ => found.push((start, end)),
        }
    }
    found
}

/// What is in both; each is in order.
fn shared(some: &[Part], others: &[Part]) -> Vec<Part> {
    let (mut found, mut left, mut right) = (Vec::new(), 0, 0);
    while let (Some(one), Some(other)) = (some.get(left), others.get(right)) {
        let (start, end) = (one.0.max(other.0), one.1.min(other.1));
        if start < end {
            found.push((start, end));
        }
        match one.1 < other.1 {
            true => left += 1,
            false => right += 1,
        }
    }
    found
}

/// MT19937, seeded by an array (Matsumoto and Nishimura 1998, doi:10.1145/272991.272995).
struct Twister {
    state: [u32; 624],
    at: usize,
}

impl Twister {
    fn seeded(seed: u64) -> Self {
        let mut state = [19_650_218_u32; 624];
        for at in 1..624 {
            let before = state[at - 1] ^ (state[at - 1] >> 30);
            state[at] = before.wrapping_mul(1_812_433_253).wrapping_add(at as u32);
        }
        let [low, high] = [seed as u32, (seed >> 32) as u32];
        let key: &[u32] = if high == 0 { &[low] } else { &[low, high] };
        let mut at = 1;
        let mut mix = |factor: u32, add: &dyn Fn(usize, usize) -> u32, round: usize| {
            let before = state[at - 1] ^ (state[at - 1] >> 30);
            state[at] = (state[at] ^ before.wrapping_mul(factor)).wrapping_add(add(round, at));
            at += 1;
            if at == 624 {
                state[0] = state[623];
                at = 1;
            }
        };
        for round in 0..624 {
            let of_key = |round: usize, _| {
                let place = round % key.len();
                key[place].wrapping_add(place as u32)
            };
            mix(1_664_525, &of_key, round);
        }
        for round in 0..623 {
            mix(1_566_083_941, &|_, at| (at as u32).wrapping_neg(), round);
        }
        state[0] = 1 << 31;
        Self { state, at: 624 }
    }

    fn next(&mut self) -> u32 {
        if self.at == 624 {
            for at in 0..624 {
                let mixed =
                    (self.state[at] & (1 << 31)) | (self.state[(at + 1) % 624] & !(1 << 31));
                let odd = if mixed & 1 == 1 { 0x9908_b0df } else { 0 };
                self.state[at] = self.state[(at + 397) % 624] ^ (mixed >> 1) ^ odd;
            }
            self.at = 0;
        }
        let mut word = self.state[self.at];
        self.at += 1;
        word ^= word >> 11;
        word ^= (word << 7) & 0x9d2c_5680;
        word ^= (word << 15) & 0xefc6_0000;
        word ^ (word >> 18)
    }

    /// From 0 to 1, with 53 bits.
    fn fraction(&mut self) -> f64 {
        let [high, low] = [self.next() >> 5, self.next() >> 6];
        (f64::from(high) * 67_108_864.0 + f64::from(low)) / 9_007_199_254_740_992.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::FileExt;

    const MIB: u64 = 1 << 20;

    #[test]
    fn the_random_numbers_are_those_that_are_published() {
        // `init_by_array` and `genrand_res53` of mt19937ar, as Python's random.Random has them.
        let mut twister = Twister::seeded(2_000_000_000_000);
        let told: Vec<f64> = (0..700).map(|_| twister.fraction()).collect();
        for (at, one) in [
            (0, 0.2348285890054329),
            (1, 0.49650048397840485),
            (699, 0.4529709493294013),
        ] {
            assert!((told[at] - one).abs() < 1e-15, "{at}");
        }
    }

    #[test]
    fn the_sample_has_the_places_where_labels_are() {
        let bytes = 2_000_000_000_000;
        let parts = sampled(bytes);
        assert!(parts.windows(2).all(|two| two[0].1 < two[1].0));
        assert_eq!((parts[0].0, parts[parts.len() - 1].1), (0, bytes));
        assert!((SAMPLES as usize..=SAMPLES as usize + 500).contains(&parts.len()));
        let ext4 = [1, 3, 5, 7, 9, 25, 49].map(|group| group * 128 * MIB);
        let xfs = [1, 2, 3].map(|group| (bytes / 4096).div_ceil(4) * 4096 * group);
        let others = [64 * MIB, 256 << 30, 1 << 30, 4 << 30];
        for at in others.into_iter().chain(ext4).chain(xfs) {
            assert!(
                parts
                    .iter()
                    .any(|(start, end)| (*start..*end).contains(&at)),
                "{at}"
            );
        }
    }

    #[test]
    fn the_same_places_are_looked_at_from_one_version_to_the_next() {
        // A device that was made blank by another version has zeros there, and nowhere else for sure.
        for (bytes, count, starts, ends) in [
            (2000000000000, 4269, 4213335500562432, 4213335535906816),
            (5368709120, 4147, 11124036558848, 11124071370752),
            (1099511943168, 4262, 2314493746499584, 2314493781815296),
            (3221225984, 4133, 6672734114304, 6672768864768),
        ] {
            let parts = sampled(bytes);
            assert_eq!(parts.len(), count);
            assert_eq!(parts.iter().map(|part| part.0).sum::<u64>(), starts);
            assert_eq!(parts.iter().map(|part| part.1).sum::<u64>(), ends);
        }
    }

    #[test]
    fn of_a_little_device_both_ends_are_all() {
        assert_eq!(ends(2 * MIB), [(0, 2 * MIB)]);
        assert_eq!(ends(3 * MIB), [(0, MIB), (2 * MIB, 3 * MIB)]);
    }

    #[test]
    fn parts_are_joined_and_shared() {
        let parts = joined(vec![(8, 9), (0, 4), (4, 5), (1, 2), (7, 7)]);
        assert_eq!(parts, [(0, 5), (8, 9)]);
        assert_eq!(shared(&parts, &[(3, 8), (8, 20)]), [(3, 5), (8, 9)]);
        assert_eq!(shared(&parts, &[]), []);
    }

    #[test]
    fn what_a_file_has_no_hole_for_is_told() {
        // On the file system of the build: the temporary one may tell nothing.
        let own = std::env::current_exe().unwrap();
        let held = tempfile::tempfile_in(own.parent().unwrap()).unwrap();
        held.set_len(8 * MIB).unwrap();
        held.write_all_at(b"x", 5 * MIB).unwrap();
        let parts = written(&held, MIB, 8 * MIB).unwrap();
        let has = |at: u64| {
            parts
                .iter()
                .any(|(start, end)| (*start..*end).contains(&at))
        };
        assert!(has(5 * MIB));
        assert!(parts
            .iter()
            .all(|(start, end)| start >= &MIB && end <= &(8 * MIB)));
    }
}
