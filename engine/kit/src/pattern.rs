//! Orders in which the records of a file are visited.

use crate::mt64::Mt64;

/// The key with which IOzone seeds its generator, in every version and for every file.
const IOZONE_KEY: [u64; 4] = [0x12345, 0x23456, 0x34567, 0x45678];

/// IOzone's random order since revision 3.488: a Fisher-Yates shuffle from the last record to
/// the first. Each record comes once; equal counts give equal orders.
pub fn random(records: u64) -> Vec<u64> {
    let mut order: Vec<u64> = (0..records).collect();
    let mut twister = Mt64::from_key(&IOZONE_KEY);
    for last in (0..order.len()).rev() {
        let other = twister.draw() % (last as u64 + 1);
        order.swap(last, other as usize);
    }
    order
}

/// IOzone's random order up to revision 3.487: each record in turn is swapped with any other,
/// which makes some orders likelier than others. Each record comes once here too.
pub fn random_before_3488(records: u64) -> Vec<u64> {
    let mut order: Vec<u64> = (0..records).collect();
    let mut twister = Mt64::from_key(&IOZONE_KEY);
    for index in 0..order.len() {
        let other = twister.draw() % records;
        order.swap(index, other as usize);
    }
    order
}

/// IOzone's strided order: `stride` records ahead each time, wrapping to one record further in.
/// With no more than `stride` records it always visits record 0; with at least `stride` + 4 it
/// visits all but the last two.
#[derive(Debug, Clone, Copy)]
pub struct Stride {
    records: u64,
    stride: u64,
    current: u64,
    wraps: u64,
    is_whole: bool,
}

impl Stride {
    /// Starts at record 0 of `records`.
    pub fn new(records: u64, stride: u64) -> Self {
        Self {
            records,
            stride,
            current: 0,
            wraps: 0,
            is_whole: false,
        }
    }

    /// The same with the original's defects mended: every record of the file comes once.
    pub fn whole_file(records: u64, stride: u64) -> Self {
        Self {
            is_whole: true,
            ..Self::new(records, stride)
        }
    }

    /// The record after the current one; from now on it is the current one.
    #[inline]
    pub fn advance(&mut self) -> u64 {
        if self.is_whole {
            return self.advance_whole();
        }
        if self.current + 1 + self.stride < self.records - 1 {
            self.current += self.stride;
        } else {
            self.wraps += 1;
            self.current = if self.records <= self.stride {
                0
            } else {
                self.wraps % self.records
            };
        }
        self.current
    }

    #[inline]
    fn advance_whole(&mut self) -> u64 {
        self.current += self.stride;
        if self.current >= self.records {
            self.wraps += 1;
            self.current = self.wraps % self.records;
        }
        self.current
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Orders observed in revisions 3.489 and 3.508 of the original.
    #[test]
    fn random_order_is_the_one_of_the_original() {
        assert_eq!(random(4), [1, 2, 0, 3]);
        assert_eq!(random(5), [2, 3, 4, 0, 1]);
        assert_eq!(random(8), [3, 1, 5, 2, 0, 4, 6, 7]);
        assert_eq!(
            random(16),
            [1, 5, 7, 13, 10, 6, 0, 8, 14, 3, 11, 2, 4, 12, 9, 15]
        );
    }

    /// Orders observed in revisions up to 3.487 of the original.
    #[test]
    fn random_order_of_old_revisions_is_the_one_of_the_original() {
        assert_eq!(random_before_3488(4), [0, 3, 1, 2]);
        assert_eq!(random_before_3488(8), [3, 7, 2, 5, 6, 1, 0, 4]);
        assert_eq!(
            random_before_3488(16),
            [3, 15, 8, 1, 12, 9, 7, 2, 5, 0, 6, 10, 14, 13, 4, 11]
        );
    }

    fn followed(mut order: Stride, records: u64) -> Vec<u64> {
        let rest = (1..records).map(|_| order.advance()).collect::<Vec<_>>();
        [vec![0], rest].concat()
    }

    fn strided(records: u64, stride: u64) -> Vec<u64> {
        followed(Stride::new(records, stride), records)
    }

    #[test]
    fn stride_wraps_one_record_further_in() {
        let order = strided(128, 17);
        assert_eq!(order[..10], [0, 17, 34, 51, 68, 85, 102, 119, 1, 18]);
        assert_eq!(order.len(), 128);
    }

    #[test]
    fn stride_degenerates_on_small_files() {
        assert!(strided(17, 17).iter().all(|&record| record == 0));
        assert!(strided(1, 17).iter().all(|&record| record == 0));
        assert_eq!(strided(18, 17), (0..18).collect::<Vec<_>>());
        assert_eq!(strided(19, 17), (0..19).collect::<Vec<_>>());
    }

    #[test]
    fn stride_visits_all_but_the_last_two_of_a_larger_file() {
        for records in [21, 64, 100, 128, 1_000] {
            let mut visited = strided(records, 17);
            visited.sort_unstable();
            visited.dedup();
            assert_eq!(visited, (0..records - 2).collect::<Vec<_>>());
        }
    }

    proptest! {
        #[test]
        fn random_visits_each_record_once(records in 0_u64..3_000) {
            for mut order in [random(records), random_before_3488(records)] {
                order.sort_unstable();
                prop_assert_eq!(order, (0..records).collect::<Vec<_>>());
            }
        }

        #[test]
        fn a_whole_file_stride_visits_each_record_once(records in 1_u64..500, stride in 1_u64..600) {
            let mut order = followed(Stride::whole_file(records, stride), records);
            order.sort_unstable();
            prop_assert_eq!(order, (0..records).collect::<Vec<_>>());
        }
    }
}
