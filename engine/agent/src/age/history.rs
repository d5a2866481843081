//! The history of a file system, drawn from a profile and a seed: pure, nothing is touched here.

use std::collections::{HashMap, VecDeque};
use std::f64::consts::TAU;
use std::path::PathBuf;

use kit::splitmix::SplitMix;
use wire::OpProfile;

/// No file is larger than this part of the capacity, and no piece than that one.
const LARGEST_PART: u64 = 16;
const PIECE_PART: u64 = 256;
/// What a file takes is reckoned in blocks of this size, and one more for all else about it.
pub const BLOCK_BYTES: u64 = 4096;

/// What is added to a file, which is made if it is not there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece {
    /// Relative: directories and a number.
    pub path: PathBuf,
    pub bytes: u64,
}

/// Draws what happens next; whoever carries it out says when something must go.
pub struct History {
    profile: OpProfile,
    random: SplitMix,
    largest_bytes: u64,
    piece_bytes: u64,
    directories: u64,
    /// Number of a file, and bytes that are still to come.
    growing: VecDeque<(u64, u64)>,
    /// Files that are deleted together.
    together: Vec<Vec<u64>>,
    /// The next ones of them.
    begun: Vec<u64>,
    files: HashMap<u64, Known>,
    /// What was written last.
    last: Option<u64>,
    made: u64,
    pub written_bytes: u64,
    /// What the files take, reckoned in blocks.
    pub held_bytes: u64,
}

/// A file that is there, or will be.
#[derive(Clone, Copy)]
struct Known {
    /// The directory that was drawn for it.
    directory: u64,
    bytes: u64,
}

impl History {
    /// Nothing has happened yet.
    pub fn new(profile: &OpProfile, capacity_bytes: u64, seed: u64) -> Self {
        let name = profile.name.bytes().fold(0, |sum: u64, byte| {
            sum.wrapping_mul(257).wrapping_add(u64::from(byte))
        });
        let largest_bytes = (capacity_bytes / LARGEST_PART).max(1);
        let mean_bytes = profile.median_bytes as f64 * (profile.sigma.powi(2) / 2.0).exp();
        let files = profile.full * capacity_bytes as f64 / mean_bytes.min(largest_bytes as f64);
        Self {
            random: SplitMix::stream(seed, name),
            largest_bytes,
            piece_bytes: profile.piece_bytes.min(capacity_bytes.div_ceil(PIECE_PART)),
            directories: (files / f64::from(profile.in_directory)).ceil().max(1.0) as u64,
            profile: profile.clone(),
            growing: VecDeque::new(),
            together: Vec::new(),
            begun: Vec::new(),
            files: HashMap::new(),
            last: None,
            made: 0,
            written_bytes: 0,
            held_bytes: 0,
        }
    }

    /// The next piece: of the files that grow now, each in turn.
    pub fn write(&mut self) -> Piece {
        while self.growing.len() < self.profile.writers as usize {
            let next = self.old().unwrap_or_else(|| self.new_file());
            self.growing.push_back(next);
        }
        let Some((number, left)) = self.growing.pop_front() else {
            unreachable!("somebody writes");
        };
        let bytes = left.min(self.piece_bytes);
        if left > bytes {
            self.growing.push_back((number, left - bytes));
        }
        let path = self.path_of(number);
        if let Some(known) = self.files.get_mut(&number) {
            self.held_bytes -= taken(known.bytes);
            known.bytes += bytes;
            self.held_bytes += taken(known.bytes);
        }
        self.written_bytes += bytes;
        self.last = Some(number);
        Piece { path, bytes }
    }

    /// The paths that go next, any that are not being written; empty if there are none.
    pub fn delete(&mut self) -> Vec<PathBuf> {
        let of_those_that_grow = self.growing.iter().map(|(number, _)| *number);
        let growing: Vec<u64> = of_those_that_grow.chain(self.last).collect();
        let count = self.together.len() as u64;
        // One more than can be in the way.
        let tries = count.min(growing.len() as u64 + 1);
        let first = if count > 0 {
            self.random.below(count)
        } else {
            0
        };
        for place in (first..first + tries).map(|place| (place % count) as usize) {
            if self.together[place].iter().any(|one| growing.contains(one)) {
                continue;
            }
            let numbers = self.together.swap_remove(place);
            return numbers.iter().map(|number| self.forget(*number)).collect();
        }
        Vec::new()
    }

    fn forget(&mut self, number: u64) -> PathBuf {
        let path = self.path_of(number);
        if let Some(known) = self.files.remove(&number) {
            self.held_bytes -= taken(known.bytes);
        }
        path
    }

    /// Perhaps a file that is there already, and what is added to it.
    fn old(&mut self) -> Option<(u64, u64)> {
        if self.together.is_empty() || self.random.share() >= self.profile.append {
            return None;
        }
        let group = self.random.below(self.together.len() as u64) as usize;
        let place = self.random.below(self.together[group].len() as u64) as usize;
        let bytes = self.drawn_bytes().min(self.piece_bytes);
        Some((self.together[group][place], bytes))
    }

    /// A file, and its size.
    fn new_file(&mut self) -> (u64, u64) {
        let number = self.made;
        self.made += 1;
        let directory = match self.profile.together {
            1 => self.random.below(self.directories),
            _ => 0,
        };
        let known = Known {
            directory,
            bytes: 0,
        };
        self.files.insert(number, known);
        self.begun.push(number);
        if self.begun.len() == self.profile.together as usize {
            self.together.push(std::mem::take(&mut self.begun));
        }
        (number, self.drawn_bytes())
    }

    fn path_of(&self, number: u64) -> PathBuf {
        let together = u64::from(self.profile.together);
        match together {
            1 => {
                let known = self.files.get(&number);
                let directory = known.map_or(0, |known| known.directory);
                format!("{directory}/{number}").into()
            }
            _ => {
                let (tree, place) = (number / together, number % together);
                let branch = place / u64::from(self.profile.in_directory);
                format!("{tree}/{branch}/{number}").into()
            }
        }
    }

    /// A size from the profile's distribution, which is log-normal (Box and Muller, 1958).
    fn drawn_bytes(&mut self) -> u64 {
        let (radius, angle) = (1.0 - self.random.share(), self.random.share());
        let normal = (-2.0 * radius.ln()).sqrt() * (TAU * angle).cos();
        let drawn = self.profile.median_bytes as f64 * (self.profile.sigma * normal).exp();
        (drawn as u64).clamp(1, self.largest_bytes)
    }
}

/// Bytes that a file of this size takes.
fn taken(bytes: u64) -> u64 {
    match bytes {
        0 => 0,
        some => BLOCK_BYTES * (some.div_ceil(BLOCK_BYTES) + 1),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use super::*;

    const CAPACITY: u64 = 256 << 20;

    fn profile(name: &str) -> OpProfile {
        let (median_bytes, piece_bytes, writers, together) = match name {
            "downloads" => (2 << 20, 256 << 10, 4, 1),
            "source-trees" => (5 << 10, 32 << 10, 3, 600),
            _ => (8 << 10, 64 << 10, 2, 1),
        };
        OpProfile {
            name: name.to_owned(),
            median_bytes,
            sigma: 1.6,
            piece_bytes,
            writers,
            together,
            in_directory: 50,
            append: 0.15,
            full: 0.75,
        }
    }

    const ALL: [&str; 3] = ["mail-spool", "downloads", "source-trees"];

    /// Writes, and deletes whenever half of the capacity is taken.
    fn happen(name: &str, seed: u64) -> Vec<(PathBuf, u64)> {
        let mut history = History::new(&profile(name), CAPACITY, seed);
        let mut told = Vec::new();
        for _ in 0..2000 {
            let piece = history.write();
            told.push((piece.path, piece.bytes));
            while history.held_bytes > CAPACITY / 2 {
                let gone = history.delete();
                if gone.is_empty() {
                    break;
                }
                told.extend(gone.into_iter().map(|path| (path, 0)));
            }
        }
        told
    }

    #[test]
    fn the_seed_and_the_profile_decide_all() {
        for name in ALL {
            assert_eq!(happen(name, 1), happen(name, 1));
            assert_ne!(happen(name, 1), happen(name, 2));
        }
        let mut other = profile("mail-spool");
        other.name = "another".to_owned();
        let drawn = |profile| {
            let mut history = History::new(profile, CAPACITY, 1);
            [(); 20].map(|()| history.write())
        };
        assert_ne!(drawn(&profile("mail-spool")), drawn(&other));
    }

    #[test]
    fn the_reckoning_agrees_with_what_happened() {
        for name in ALL {
            let profile = profile(name);
            let mut history = History::new(&profile, CAPACITY, 3);
            let (mut sizes, mut coin) = (BTreeMap::new(), SplitMix::new(0));
            for _ in 0..3000 {
                if coin.share() < 0.3 {
                    for path in history.delete() {
                        assert!(sizes.remove(&path).is_some(), "{path:?} is not there");
                    }
                } else {
                    let piece = history.write();
                    assert!((1..=profile.piece_bytes).contains(&piece.bytes));
                    *sizes.entry(piece.path).or_insert(0) += piece.bytes;
                }
            }
            let held: u64 = sizes
                .values()
                .map(|bytes: &u64| BLOCK_BYTES * (bytes.div_ceil(BLOCK_BYTES) + 1))
                .sum();
            assert_eq!(history.held_bytes, held, "{name}");
        }
    }

    #[test]
    fn sizes_are_those_of_the_profile() {
        let mut history = History::new(&profile("mail-spool"), 1 << 50, 9);
        let mut drawn: Vec<u64> = (0..10_001).map(|_| history.drawn_bytes()).collect();
        drawn.sort_unstable();
        // Five standard errors of a median: 1.25 sigma / sqrt(n).
        let off = (drawn[5_000] as f64 / 8192.0).ln().abs();
        assert!(off < 5.0 * 1.25 * 1.6 / 100.0, "{}", drawn[5_000]);
        // A standard deviation below and above are 15.9 % and 84.1 %.
        let sigma = (drawn[8_413] as f64 / drawn[1_587] as f64).ln() / 2.0;
        assert!((sigma - 1.6).abs() < 0.1, "{sigma}");
        assert!(drawn[0] >= 1);
    }

    #[test]
    fn no_file_and_no_piece_is_larger_than_its_share() {
        let mut large = profile("downloads");
        large.median_bytes = 1 << 40;
        let mut history = History::new(&large, 16 << 20, 1);
        let mut sizes = BTreeMap::new();
        for _ in 0..500 {
            let piece = history.write();
            assert!(piece.bytes <= (16 << 20) / PIECE_PART);
            *sizes.entry(piece.path).or_insert(0) += piece.bytes;
        }
        assert!(sizes.values().all(|bytes| *bytes <= (1 << 20) + (64 << 10)));
    }

    #[test]
    fn several_files_grow_at_the_same_time() {
        let told = happen("downloads", 5);
        let paths: Vec<&PathBuf> = told
            .iter()
            .filter(|(_, bytes)| *bytes > 0)
            .map(|(path, _)| path)
            .collect();
        let others = paths.windows(2).filter(|pair| pair[0] != pair[1]).count();
        assert!(others as f64 > 0.9 * paths.len() as f64, "{others}");
    }

    #[test]
    fn a_tree_goes_as_a_whole_and_nothing_that_grows_goes() {
        let mut history = History::new(&profile("source-trees"), CAPACITY, 1);
        let gone = loop {
            match history.delete() {
                none if none.is_empty() => history.write(),
                gone => break gone,
            };
        };
        assert_eq!(gone.len(), 600);
        let trees: BTreeSet<_> = gone.iter().map(|path| path.iter().next()).collect();
        assert_eq!(trees.len(), 1);
        let mut one = History::new(&profile("downloads"), CAPACITY, 1);
        assert_eq!(one.delete(), Vec::<PathBuf>::new());
        one.write();
        assert_eq!(one.delete(), Vec::<PathBuf>::new());
    }
}
