//! A log-linear histogram: 64 sub-buckets per power of two, so that every value is known to
//! within 1/64. Memory is fixed; recording is a shift, an add and two comparisons.

use serde_json::{Map, Value};
use wire::{Latency, MetricCard, Sample};

const SUB_BUCKET_BITS: u32 = 6;
const SUB_BUCKETS: usize = 1 << SUB_BUCKET_BITS;
/// Values below 64 have a bucket each; each of the 58 powers of two above has 64.
const BUCKETS: usize = SUB_BUCKETS * (64 - SUB_BUCKET_BITS as usize + 1);
/// A mean is known to that share of it.
const ROUNDED: f64 = 1e-12;
/// Two years of a hundred threads; a hundred times that is still a number of ours.
const MOST_SUM_NS: f64 = (1_u64 << 57) as f64;

/// Counts of durations in nanoseconds.
#[derive(Clone)]
pub struct Histogram {
    buckets: Box<[u64; BUCKETS]>,
    count: u64,
    sum_ns: u64,
    min_ns: u64,
    max_ns: u64,
}

impl Histogram {
    /// An empty histogram; the only allocation it ever makes.
    pub fn new() -> Self {
        Self {
            buckets: Box::new([0; BUCKETS]),
            count: 0,
            sum_ns: 0,
            min_ns: u64::MAX,
            max_ns: 0,
        }
    }

    /// Counts one duration.
    #[inline]
    pub fn record(&mut self, value_ns: u64) {
        self.buckets[bucket_of(value_ns)] += 1;
        self.count += 1;
        self.sum_ns += value_ns;
        self.min_ns = self.min_ns.min(value_ns);
        self.max_ns = self.max_ns.max(value_ns);
    }

    /// Number of recorded durations.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Sum of all recorded durations, in ns.
    pub fn sum_ns(&self) -> u64 {
        self.sum_ns
    }

    /// Forgets everything, keeps the memory.
    pub fn clear(&mut self) {
        self.buckets.fill(0);
        self.count = 0;
        self.sum_ns = 0;
        self.min_ns = u64::MAX;
        self.max_ns = 0;
    }

    /// Adds the counts of another histogram. Percentiles themselves must never be averaged.
    pub fn merge(&mut self, other: &Histogram) {
        for (mine, theirs) in self.buckets.iter_mut().zip(other.buckets.iter()) {
            *mine += theirs;
        }
        self.count += other.count;
        self.sum_ns += other.sum_ns;
        self.min_ns = self.min_ns.min(other.min_ns);
        self.max_ns = self.max_ns.max(other.max_ns);
    }

    /// The smallest duration such that `share` (0 … 1) of all are not longer, in ns: the upper
    /// edge of its bucket, at most 1/64 too high. Zero for an empty histogram.
    pub fn percentile_ns(&self, share: f64) -> u64 {
        let rank = ((share * self.count as f64).ceil() as u64).max(1);
        let mut seen = 0;
        for (index, &count) in self.buckets.iter().enumerate() {
            seen += count;
            if seen >= rank {
                return highest_of(index).min(self.max_ns);
            }
        }
        self.max_ns
    }

    /// The form in which it crosses the wire; `None` when nothing was recorded. A percentile is
    /// given only when at least ten durations lie beyond it.
    pub fn to_wire(&self) -> Option<Latency> {
        if self.count == 0 {
            return None;
        }
        let gated =
            |share: f64, least: u64| (self.count >= least).then(|| self.percentile_ns(share));
        Some(Latency {
            count: self.count,
            min: self.min_ns,
            max: self.max_ns,
            mean: self.sum_ns as f64 / self.count as f64,
            p50: self.percentile_ns(0.50),
            p90: self.percentile_ns(0.90),
            p99: self.percentile_ns(0.99),
            p999: gated(0.999, 10_000),
            p9999: gated(0.9999, 100_000),
            buckets: (0..BUCKETS)
                .filter(|&index| self.buckets[index] > 0)
                .map(|index| (lowest_of(index), self.buckets[index]))
                .collect(),
        })
    }

    /// What [`Histogram::to_wire`] gave, from elsewhere; `None` when it cannot have: its counts do not
    /// add up, or its figures lie outside its buckets.
    pub fn from_wire(told: &Latency) -> Option<Self> {
        let mut found = Self::new();
        for &(low, count) in &told.buckets {
            let index = bucket_of(low);
            found.buckets[index] = found.buckets[index].checked_add(count)?;
            found.count = found.count.checked_add(count)?;
            if lowest_of(index) != low || count == 0 {
                return None;
            }
        }
        let bucket_at = |place: Option<&(u64, u64)>| place.map(|bucket| bucket_of(bucket.0));
        let (min, max) = (Some(bucket_of(told.min)), Some(bucket_of(told.max)));
        let is_ascending = told.buckets.is_sorted_by(|one, next| one.0 < next.0);
        let has_figures = bucket_at(told.buckets.first()) == min
            && bucket_at(told.buckets.last()) == max
            && (told.min as f64 * (1.0 - ROUNDED)..=told.max as f64 * (1.0 + ROUNDED))
                .contains(&told.mean);
        let sum_ns = (told.mean * told.count as f64).round();
        if !is_ascending || !has_figures || found.count != told.count || sum_ns > MOST_SUM_NS {
            return None;
        }
        (found.sum_ns, found.min_ns, found.max_ns) = (sum_ns as u64, told.min, told.max);
        Some(found)
    }

    /// The mean duration as the value of a metric at a point of the grid; `None` when nothing was
    /// recorded.
    pub fn sample(&self, metric: MetricCard, at: Map<String, Value>) -> Option<Sample> {
        let latency = self.to_wire()?;
        let (operations, mean_s) = (latency.count, latency.mean / 1e9);
        Some(Sample {
            operations,
            elapsed_s: self.sum_ns as f64 / 1e9,
            latency_ns: Some(latency),
            ..metric.sample(mean_s, at)
        })
    }
}

impl Default for Histogram {
    fn default() -> Self {
        Self::new()
    }
}

#[inline]
fn bucket_of(value: u64) -> usize {
    let magnitude = 63 - (value | 1).leading_zeros();
    let shift = magnitude.saturating_sub(SUB_BUCKET_BITS);
    // For values of 64 and more the top bit of the mantissa adds the one that `shift` lacks.
    ((shift as usize) << SUB_BUCKET_BITS) + (value >> shift) as usize
}

fn lowest_of(index: usize) -> u64 {
    let shift = (index >> SUB_BUCKET_BITS).saturating_sub(1);
    ((index - (shift << SUB_BUCKET_BITS)) as u64) << shift
}

fn highest_of(index: usize) -> u64 {
    match index + 1 {
        BUCKETS => u64::MAX,
        next => lowest_of(next) - 1,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn filled(values: &[u64]) -> Histogram {
        let mut histogram = Histogram::new();
        for &value in values {
            histogram.record(value);
        }
        histogram
    }

    #[test]
    fn bucket_edges_meet_without_gap_or_overlap() {
        assert_eq!(bucket_of(u64::MAX), BUCKETS - 1);
        for index in 0..BUCKETS {
            assert_eq!(bucket_of(lowest_of(index)), index);
            assert_eq!(bucket_of(highest_of(index)), index);
        }
    }

    #[test]
    fn tail_percentiles_wait_for_enough_operations() {
        let few = filled(&vec![7; 9_999]).to_wire().unwrap();
        assert_eq!((few.p999, few.p9999), (None, None));
        let more = filled(&vec![7; 10_000]).to_wire().unwrap();
        assert_eq!((more.p999, more.p9999), (Some(7), None));
        let many = filled(&vec![7; 100_000]).to_wire().unwrap();
        assert_eq!(many.p9999, Some(7));
        assert!(Histogram::new().to_wire().is_none());
    }

    #[test]
    fn a_histogram_that_cannot_be_ours_is_none() {
        let told = || filled(&[3, 100, 5_000]).to_wire().unwrap();
        assert!(Histogram::from_wire(&told()).is_some());
        let lies: [fn(&mut Latency); 9] = [
            |told| told.count += 1,
            |told| told.min = 50,
            |told| told.max = u64::MAX,
            |told| told.mean = 6_000.0,
            |told| told.mean = f64::NAN,
            |told| told.buckets.reverse(),
            |told| told.buckets[2].0 += 1,
            |told| told.buckets[0].1 = u64::MAX,
            |told| told.buckets.clear(),
        ];
        for (number, lie) in lies.iter().enumerate() {
            let mut lied = told();
            lie(&mut lied);
            assert!(Histogram::from_wire(&lied).is_none(), "lie {number}");
        }
        let mut long = filled(&[1 << 57]).to_wire().unwrap();
        assert!(Histogram::from_wire(&long).is_some());
        (long.count, long.buckets[0].1) = (2, 2);
        assert!(
            Histogram::from_wire(&long).is_none(),
            "the sum of many would not be a number"
        );
    }

    proptest! {
        #[test]
        fn what_crossed_the_wire_is_what_was_recorded(
            values in prop::collection::vec(0_u64..1 << 40, 1..400),
        ) {
            let told = filled(&values).to_wire().unwrap();
            let found = Histogram::from_wire(&told).unwrap();
            prop_assert_eq!(found.sum_ns(), values.iter().sum::<u64>());
            prop_assert_eq!(found.to_wire().unwrap(), told);
        }

        #[test]
        fn percentiles_agree_with_a_sorted_vector(
            mut values in prop::collection::vec(0_u64..1 << 40, 1..400), share in 0.0..=1.0_f64,
        ) {
            let found = filled(&values).percentile_ns(share);
            values.sort_unstable();
            let rank = ((share * values.len() as f64).ceil() as usize).max(1);
            let exact = values[rank - 1];
            prop_assert!(found >= exact, "{found} < {exact}");
            prop_assert!(found - exact <= exact / SUB_BUCKETS as u64, "{found} for {exact}");
        }

        #[test]
        fn agrees_with_hdrhistogram(
            values in prop::collection::vec(1_u64..1 << 40, 1..400), share in 0.0..=1.0_f64,
        ) {
            let mut oracle = hdrhistogram::Histogram::<u64>::new(3).unwrap();
            for &value in &values {
                oracle.record(value).unwrap();
            }
            let found = filled(&values).percentile_ns(share) as f64;
            let theirs = oracle.value_at_quantile(share) as f64;
            prop_assert!((found / theirs - 1.0).abs() <= 1.0 / 64.0 + 1e-3, "{found} {theirs}");
        }

        #[test]
        fn merging_is_recording_both(
            left in prop::collection::vec(any::<u32>(), 0..100),
            right in prop::collection::vec(any::<u32>(), 1..100),
        ) {
            let widen = |values: &[u32]| values.iter().map(|&v| u64::from(v)).collect::<Vec<_>>();
            let (left, right) = (widen(&left), widen(&right));
            let mut merged = filled(&left);
            merged.merge(&filled(&right));
            let both = filled(&[left, right].concat());
            let (merged, both) = (merged.to_wire().unwrap(), both.to_wire().unwrap());
            prop_assert_eq!(&merged.buckets, &both.buckets);
            prop_assert_eq!(
                (merged.count, merged.min, merged.max), (both.count, both.min, both.max)
            );
            prop_assert_eq!(merged.buckets.iter().map(|b| b.1).sum::<u64>(), merged.count);
        }
    }
}
