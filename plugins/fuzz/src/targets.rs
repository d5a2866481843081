//! ● What is fuzzed: whatever reads what others say, before it acts upon it.

mod agent;
mod control;
mod job;
mod netperf;
mod pool;

/// Something that reads an input.
pub struct Target {
    /// As the command line has it.
    pub name: &'static str,
    /// Inputs as they should be.
    pub seeds: fn() -> Vec<Vec<u8>>,
    /// Words that its reader knows.
    pub tokens: &'static [&'static str],
    /// Reads it; panics where something does not hold that must.
    pub run: fn(&[u8]),
}

/// All of them.
pub static ALL: &[Target] = &[
    control::TARGET,
    netperf::TARGET,
    job::TARGET,
    agent::TARGET,
    pool::TARGET,
];

/// Numbers and words that no program likes in JSON.
macro_rules! json_tokens {
    ($($word:literal),* $(,)?) => {
        &[
            "null", "true", "-1", "0", "1e308", "-0.0", "18446744073709551616", "NaN", "[]", "{}",
            "\"", "\\u0000", "\\ud800", ",", ":", "[[[[[[[[", $($word),*
        ]
    };
}
pub(crate) use json_tokens;
