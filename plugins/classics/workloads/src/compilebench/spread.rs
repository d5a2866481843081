//! Numbers that follow a distribution of which a few quantiles and the sum are known.

use std::ops::Range;

/// What is known.
#[derive(Debug, Clone, Copy)]
pub struct Spread<'a> {
    /// Quantiles at equal distances, from the smallest to the largest number.
    pub quantiles: &'a [u64],
    /// What all numbers add up to.
    pub total: u64,
}

/// The bend of the uppermost part is searched for between its inverse and this.
const BEND_MAX: f64 = 64.0;
/// Halvings of that range: more than a `f64` can tell apart.
const HALVINGS: usize = 60;

/// `count` numbers, ascending: evenly on a logarithmic scale between two quantiles, above the
/// last but one with a bend that makes the sum right. Few numbers cannot have such a sum; they
/// are scaled. The sum is exact.
pub fn spread(known: &Spread, count: u64) -> Vec<u64> {
    let parts = known.quantiles.len() as u64 - 1;
    let is_below = |index: &u64| (2 * index + 1) * parts < 2 * count * (parts - 1);
    let bent = (0..count).take_while(is_below).count() as u64;
    let values = |indices: Range<u64>, bend: f64| {
        indices.map(move |index| value(known, (index as f64 + 0.5) / count as f64, bend))
    };
    let wanted = known.total as f64;
    let below: f64 = values(0..bent, 1.0).sum();
    // The stronger the bend, the fewer of the numbers are large.
    let (mut low, mut high) = (BEND_MAX.recip(), BEND_MAX);
    for _ in 0..HALVINGS {
        let middle = (low + high) / 2.0;
        if below + values(bent..count, middle).sum::<f64>() > wanted {
            low = middle;
        } else {
            high = middle;
        }
    }
    let scale = wanted / values(0..count, low).sum::<f64>();
    let scaled = values(0..count, low).map(|value| (value * scale) as u64);
    let mut numbers: Vec<u64> = scaled.collect();
    let missing = known.total - numbers.iter().sum::<u64>().min(known.total);
    if let Some(largest) = numbers.last_mut() {
        *largest += missing;
    }
    numbers
}

/// The number below which `share` of all lie.
fn value(known: &Spread, share: f64, bend: f64) -> f64 {
    let parts = known.quantiles.len() - 1;
    let place = share * parts as f64;
    let part = (place as usize).min(parts - 1);
    let mut within = place - part as f64;
    if part == parts - 1 {
        within = within.powf(bend);
    }
    // Zero has no logarithm, so all is moved by one.
    let logarithm = |number: u64| (number as f64).ln_1p();
    let (from, to) = (
        logarithm(known.quantiles[part]),
        logarithm(known.quantiles[part + 1]),
    );
    (from + within * (to - from)).exp_m1()
}

#[cfg(test)]
mod tests {
    use super::*;

    const KNOWN: Spread = Spread {
        quantiles: &[0, 10, 100, 1_000, 1_000_000],
        total: 4_000_000,
    };

    #[test]
    fn quantiles_and_sum_are_as_asked_for() {
        let numbers = spread(&KNOWN, 1_000);
        assert!(numbers.is_sorted());
        assert_eq!(numbers.iter().sum::<u64>(), KNOWN.total);
        for (place, quantile) in [(250, 10), (500, 100), (750, 1_000)] {
            let found = numbers[place];
            assert!(
                found.abs_diff(quantile) <= quantile / 20 + 1,
                "{found} for {quantile}"
            );
        }
        let largest = numbers[999];
        assert!((700_000..=1_001_000).contains(&largest), "{largest}");
    }

    #[test]
    fn the_sum_of_few_is_exact_too() {
        for count in [1, 2, 3, 7] {
            let numbers = spread(&KNOWN, count);
            assert_eq!(numbers.len() as u64, count);
            assert_eq!(numbers.iter().sum::<u64>(), KNOWN.total);
        }
    }
}
