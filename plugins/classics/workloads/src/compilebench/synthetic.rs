//! Trees that are made up, shaped like those of Linux 2.6.20 and 2.6.21 and their builds, from
//! which the original's files were taken.
//!
//! What is kept: number of files and bytes of all four sets; the twentieths of the distribution
//! of sizes in each; how many directories there are at each depth, and the tenths of the
//! distribution of files in a directory. Between two twentieths sizes are spread evenly on a
//! logarithmic scale; above the last, the scale is bent until the sum is right, which gives the
//! heavy tail of a build (a few files of 64 MB). What is not kept: names, which directory has
//! how many files, and which sizes are found where. The same number of files gives the same
//! trees always and everywhere.

use super::choices::Choices;
use super::sets::{Listing, Sets};
use super::spread::{spread, Spread};

/// Files of a source tree of Linux 2.6.20.
pub const FILES: u32 = 21_280;

/// Part of a tree whose number of files is in proportion to that of the source.
struct Shape {
    files: u64,
    sizes: Spread<'static>,
}

#[rustfmt::skip]
const SOURCE: Shape = Shape {
    files: FILES as u64,
    sizes: Spread {
        quantiles: &[
            6, 159, 390, 647, 959, 1_303, 1_723, 2_206, 2_755, 3_366, 4_055, 4_917, 6_011, 7_322,
            9_054, 11_141, 14_225, 18_694, 26_112, 43_037, 873_603,
        ],
        total: 233_176_153,
    },
};
#[rustfmt::skip]
const PATCH: Shape = Shape {
    files: 6_136,
    sizes: Spread {
        quantiles: &[
            9, 741, 1_579, 2_329, 3_110, 3_848, 4_641, 5_686, 6_796, 8_076, 9_618, 11_197, 13_321,
            15_651, 18_697, 22_204, 26_815, 33_378, 44_426, 66_157, 730_463,
        ],
        total: 114_997_799,
    },
};
#[rustfmt::skip]
const OBJECTS: Shape = Shape {
    files: 3_263,
    sizes: Spread {
        quantiles: &[
            0, 0, 0, 105, 399, 8_313, 9_342, 12_198, 13_134, 13_751, 14_813, 16_107, 18_904,
            50_712, 89_472, 110_208, 130_304, 157_232, 197_600, 317_856, 64_081_981,
        ],
        total: 713_696_760,
    },
};
#[rustfmt::skip]
const PATCHED_OBJECTS: Shape = Shape {
    files: 2_573,
    sizes: Spread {
        quantiles: &[
            0, 8_415, 9_428, 11_224, 12_936, 13_616, 14_072, 14_757, 15_762, 16_581, 18_721,
            48_216, 81_376, 102_352, 117_613, 133_408, 153_248, 180_888, 230_880, 429_800,
            65_170_646,
        ],
        total: 725_190_942,
    },
};

/// Files that a patch adds.
const PATCH_NEW: u64 = 610;
/// Files that a build of the next version adds.
const PATCHED_OBJECTS_NEW: u64 = 77;
/// Files that a build makes in directories of its own, all of them almost empty, and so many
/// directories.
const CONFIGURATION: (u64, u64) = (420, 201);
/// Directories of the source that a build makes files in.
const BUILT: u64 = 148;

/// Directories at each depth below the root of the tree.
const DIRECTORIES: [u64; 6] = [17, 312, 653, 230, 50, 1];
/// Tenths of the distribution of files in a directory.
const FILES_PER_DIRECTORY: [u64; 11] = [1, 1, 2, 3, 5, 6, 8, 11, 15, 21, 745];

const SEED: u32 = 2_620;

/// Trees of which the source has so many files.
pub fn sets(files: u32) -> Sets {
    let mut maker = Maker {
        files: files.into(),
        choices: Choices::seeded(SEED),
    };
    let directories = maker.directories();
    let source = maker.source(&directories);
    let patch = maker.patch(&source, &directories);
    let objects = maker.objects(&directories);
    let patched_objects = maker.patched_objects(&objects);
    Sets::new([source, patch, objects, patched_objects])
}

struct Maker {
    files: u64,
    choices: Choices,
}

impl Maker {
    /// What would be `count` for a whole source tree.
    fn scaled(&self, count: u64) -> u64 {
        (count * self.files + u64::from(FILES) / 2) / u64::from(FILES)
    }

    fn directories(&mut self) -> Vec<String> {
        let mut directories: Vec<String> = Vec::new();
        let mut above = vec![String::new()];
        for count in DIRECTORIES {
            let level: Vec<String> = (0..self.scaled(count).max(1))
                .map(|number| format!("{}dir{number:04}/", above[self.skewed(above.len())]))
                .collect();
            directories.extend_from_slice(&level);
            above = level;
        }
        directories
    }

    /// A number below `bound`, small ones being likelier: a few directories have most of the
    /// directories below them.
    fn skewed(&mut self, bound: usize) -> usize {
        let share = self.choices.share();
        (share * share * bound as f64) as usize
    }

    fn source(&mut self, directories: &[String]) -> Listing {
        let mut counts = spread(
            &Spread {
                quantiles: &FILES_PER_DIRECTORY,
                total: self.files,
            },
            directories.len() as u64,
        );
        self.choices.shuffle(&mut counts);
        let mut sizes = self.sizes(&SOURCE);
        self.choices.shuffle(&mut sizes);
        let places = directories.iter().zip(counts);
        let places = places.flat_map(|(path, count)| (0..count).map(move |_| path));
        let files = places.zip(sizes).enumerate();
        files
            .map(|(number, (path, size))| (format!("{path}file{number:06}.c"), size))
            .collect()
    }

    /// Large files stay large: the changed ones keep their order of sizes.
    fn patch(&mut self, source: &Listing, directories: &[String]) -> Listing {
        let added = self.scaled(PATCH_NEW);
        let sizes = self.sizes(&PATCH);
        let changed = sizes.len() - added as usize;
        self.changed(source, changed, sizes, |maker, number| {
            let path = &directories[maker.choices.below(directories.len())];
            format!("{path}new{number:06}.c")
        })
    }

    fn objects(&mut self, directories: &[String]) -> Listing {
        let sizes = self.sizes(&OBJECTS);
        let headers = self.scaled(CONFIGURATION.0).min(sizes.len() as u64) as usize;
        let own = self.scaled(CONFIGURATION.1).max(1) as usize;
        let mut built: Vec<&String> = directories.iter().collect();
        self.choices.shuffle(&mut built);
        built.truncate(self.scaled(BUILT).max(1) as usize);
        let files = sizes.into_iter().enumerate();
        files
            .map(|(number, size)| {
                let path = if number < headers {
                    format!("config/opt{:04}/on{number:05}.h", number % own)
                } else {
                    format!("{}obj{number:06}.o", self.choices.one_of(&built))
                };
                (path, size)
            })
            .collect()
    }

    fn patched_objects(&mut self, objects: &Listing) -> Listing {
        let sizes = self.sizes(&PATCHED_OBJECTS);
        let added = self.scaled(PATCHED_OBJECTS_NEW) as usize;
        let changed = (sizes.len() - added).min(objects.len());
        self.changed(objects, changed, sizes, |maker, number| {
            let (beside, _) = &objects[maker.choices.below(objects.len())];
            let directory = beside.rsplit_once('/').map_or("", |(path, _)| path);
            format!("{directory}/add{number:06}.o")
        })
    }

    /// `changed` files of `before`, and as many new ones as there are `sizes` left.
    fn changed(
        &mut self,
        before: &Listing,
        changed: usize,
        mut sizes: Vec<u64>,
        mut name: impl FnMut(&mut Self, usize) -> String,
    ) -> Listing {
        self.choices.shuffle(&mut sizes);
        let added = sizes.split_off(changed);
        sizes.sort_unstable();
        let mut chosen: Vec<&(String, u64)> = before.iter().collect();
        self.choices.shuffle(&mut chosen);
        chosen.truncate(changed);
        chosen.sort_by_key(|(_, size)| *size);
        let kept = chosen.into_iter().map(|(path, _)| path.clone());
        let mut listing: Listing = kept.zip(sizes).collect();
        for (number, size) in added.into_iter().enumerate() {
            listing.push((name(self, number), size));
        }
        listing
    }

    /// Sizes, ascending.
    fn sizes(&self, shape: &Shape) -> Vec<u64> {
        let total = u128::from(shape.sizes.total) * u128::from(self.files) / u128::from(FILES);
        let scaled = Spread {
            total: total as u64,
            ..shape.sizes
        };
        spread(&scaled, self.scaled(shape.files).max(1))
    }
}

#[cfg(test)]
mod tests {
    use super::super::sets::SetName;
    use super::*;

    /// Files and bytes of the four sets as the original derives them from Linux.
    #[test]
    fn a_whole_tree_has_the_totals_of_linux() {
        let sets = sets(FILES);
        let totals = SetName::ALL.map(|name| {
            let set = sets.set(name);
            (set.members.len(), set.bytes)
        });
        let wanted = [
            (21_280, 233_176_153),
            (6_136, 114_997_799),
            (3_263, 713_696_760),
            (2_573, 725_190_942),
        ];
        assert_eq!(totals, wanted);
        let largest = |name| sets.set(name).members.iter().map(|m| m.size_bytes).max();
        let megabytes = largest(SetName::Objects).unwrap() >> 20;
        assert!((50..=70).contains(&megabytes), "{megabytes}");
        let of_source: u64 = DIRECTORIES.iter().sum();
        let own = sets.directories.len() as u64 - of_source;
        assert!((150..=250).contains(&own), "{own}");
        assert_additions(&sets);
    }

    /// A patch and its build add files in proportion, and change others.
    fn assert_additions(sets: &Sets) {
        let with_patch = FILES + PATCH_NEW as u32;
        for (name, known, wanted) in [
            (SetName::Patch, FILES, PATCH_NEW),
            (
                SetName::PatchedObjects,
                with_patch + OBJECTS.files as u32,
                PATCHED_OBJECTS_NEW,
            ),
        ] {
            let members = sets.set(name).members.iter();
            let added = members.filter(|member| member.file >= known).count();
            assert_eq!(added as u64, wanted, "{name:?}");
        }
    }

    #[test]
    fn the_smallest_trees_have_all_sets() {
        for files in [20, 21, 50, 333] {
            let sets = sets(files);
            for name in SetName::ALL {
                let set = sets.set(name);
                assert!(
                    set.bytes > 0 && !set.members.is_empty(),
                    "{files}: {name:?}"
                );
            }
            let source = sets.set(SetName::Source);
            assert_eq!(source.members.len(), files as usize);
            assert_eq!(
                source.bytes,
                233_176_153 * u64::from(files) / u64::from(FILES)
            );
        }
    }
}
