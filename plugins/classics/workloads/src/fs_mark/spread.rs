//! Which subdirectory the next file goes to.

use super::params::Params;

/// How long the original stays in a subdirectory, in seconds.
const STAY_S: u64 = 180;

/// A thread's way through its subdirectories.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Spread {
    /// There are none.
    Single,
    /// A number of files each, in turn.
    RoundRobin {
        count: u32,
        files_each: u64,
        /// Where each loop begins; the original asks the clock.
        begin: Option<u32>,
        current: u32,
        left: u64,
    },
    /// Three minutes each, in turn, beginning where the clock says.
    TimeHash {
        count: u32,
        current: u32,
        since_s: u64,
    },
}

impl Spread {
    /// The way of the thread that is number `rank` of `sharers` in its directory. They begin as
    /// far from each other as they can; in the original, all begin in the same place.
    pub fn new(params: &Params, rank: u32, sharers: u32) -> Self {
        let count = params.subdirectories;
        match (count, params.files_per_subdirectory) {
            (0, _) => Self::Single,
            (_, 0) if params.classic => Self::TimeHash {
                count,
                current: 0,
                since_s: 0,
            },
            (_, wanted) => Self::RoundRobin {
                count,
                files_each: match wanted {
                    0 => params.files.div_ceil(u64::from(count)),
                    files => files,
                },
                begin: (!params.classic)
                    .then(|| (u64::from(rank) * u64::from(count) / u64::from(sharers)) as u32),
                current: 0,
                left: 0,
            },
        }
    }

    /// A loop begins at `now_s`, seconds since 1970.
    pub fn begin_loop(&mut self, now_s: u64) {
        match self {
            Self::Single => {}
            Self::RoundRobin {
                count,
                files_each,
                begin,
                current,
                left,
            } => {
                *current = begin.unwrap_or((now_s % u64::from(*count)) as u32);
                *left = *files_each;
            }
            Self::TimeHash {
                count,
                current,
                since_s,
            } => {
                *current = (now_s % u64::from(*count)) as u32;
                *since_s = now_s;
            }
        }
    }

    /// Where a file goes that is made at `now_s`; 0 when there are no subdirectories.
    pub fn next(&mut self, now_s: u64) -> u32 {
        match self {
            Self::Single => 0,
            Self::RoundRobin {
                count,
                files_each,
                current,
                left,
                ..
            } => {
                if *left == 0 {
                    *current = (*current + 1) % *count;
                    *left = *files_each;
                }
                *left -= 1;
                *current
            }
            Self::TimeHash {
                count,
                current,
                since_s,
            } => {
                if now_s.saturating_sub(*since_s) > STAY_S {
                    *current = (*current + 1) % *count;
                    *since_s = now_s;
                }
                *current
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{json, Value};

    use super::*;

    fn places(given: Value, rank: u32, seconds: &[u64]) -> Vec<u32> {
        let params = Params::parse(given.as_object().unwrap()).unwrap();
        let mut spread = Spread::new(&params, rank, 2);
        spread.begin_loop(seconds[0]);
        seconds.iter().map(|&now_s| spread.next(now_s)).collect()
    }

    #[test]
    fn files_are_spread_evenly_and_threads_keep_apart() {
        let given = json!({"files": 8, "subdirectories": 4});
        assert_eq!(places(given.clone(), 0, &[5; 8]), [0, 0, 1, 1, 2, 2, 3, 3]);
        assert_eq!(places(given, 1, &[5; 8]), [2, 2, 3, 3, 0, 0, 1, 1]);
        assert_eq!(places(json!({}), 1, &[5; 3]), [0, 0, 0]);
    }

    #[test]
    fn round_robin_begins_where_the_clock_says_in_the_original() {
        let given = json!({"subdirectories": 3, "files_per_subdirectory": 2, "classic": true});
        assert_eq!(places(given.clone(), 0, &[10; 6]), [1, 1, 2, 2, 0, 0]);
        assert_eq!(places(given, 1, &[10; 2]), [1, 1]);
    }

    #[test]
    fn the_time_hash_stays_for_three_minutes() {
        let given = json!({"subdirectories": 32, "classic": true});
        let seconds = [31, 32, 211, 212, 300, 393];
        assert_eq!(places(given, 1, &seconds), [31, 31, 31, 0, 0, 1]);
    }
}
