//! The loop: change, execute, keep what is new.

use std::panic::{catch_unwind, AssertUnwindSafe};

use kit::splitmix::SplitMix;

use crate::coverage::Coverage;
use crate::mutate::mutate;
use crate::targets::Target;

/// Where the compiler counts nothing, every so many inputs one is kept.
const BLIND: u64 = 64;
/// No more are kept.
const KEPT_MAX: usize = 4_096;

/// What was found.
#[derive(Debug)]
pub struct Explored {
    /// Inputs that were executed.
    pub inputs: u64,
    /// Inputs that were kept.
    pub kept: usize,
    /// Edges that were reached, and all there are; none without counters.
    pub edges: [usize; 2],
}

/// An input on which the target panicked.
#[derive(Debug)]
pub struct Broken(pub Vec<u8>);

/// Executes `inputs` inputs. The same seed gives the same inputs in the same program.
///
/// # Errors
/// The first input that breaks the target.
pub fn explore(target: &Target, inputs: u64, seed: u64) -> Result<Explored, Broken> {
    let mut random = SplitMix::new(seed);
    let mut coverage = Coverage::default();
    let mut kept = (target.seeds)();
    let mut run = |input: &[u8]| {
        coverage.begin();
        let done = catch_unwind(AssertUnwindSafe(|| (target.run)(input)));
        let is_new = coverage.end();
        done.map(|()| (is_new, coverage.edges()))
            .map_err(|_| Broken(input.to_vec()))
    };
    for seed in &kept {
        run(seed)?;
    }
    let mut edges = [0; 2];
    for number in 0..inputs {
        let [one, other] = [0; 2].map(|_| random.below(kept.len() as u64) as usize);
        let mut input = kept[one].clone();
        mutate(&mut input, &kept[other], target.tokens, &mut random);
        let (is_new, now) = run(&input)?;
        edges = now;
        let is_kept = is_new || edges[1] == 0 && number % BLIND == 0;
        if is_kept && kept.len() < KEPT_MAX {
            kept.push(input);
        }
    }
    Ok(Explored {
        inputs,
        kept: kept.len(),
        edges,
    })
}
