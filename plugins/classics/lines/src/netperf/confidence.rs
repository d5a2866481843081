//! How often a test is repeated: until the interval of confidence around the mean is narrow
//! enough.
//!
//! The whole width of the interval, relative to the mean, is 2·t·√(s²/n)/mean, where t is Student's
//! for n−1 degrees of freedom and s² the variance of the sample. The original writes s²/n as the
//! variance of the population over n−1, which is the same.

use super::figures::Figures;

/// Two-sided quantiles of Student's distribution for 1 to 29 degrees of freedom: 95 %.
const T_95: [f64; 29] = [
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160,
    2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056,
    2.052, 2.048, 2.045,
];

/// Likewise, 99 %.
const T_99: [f64; 29] = [
    63.657, 9.925, 5.841, 4.604, 4.032, 3.707, 3.499, 3.355, 3.250, 3.169, 3.106, 3.055, 3.012,
    2.977, 2.947, 2.921, 2.898, 2.878, 2.861, 2.845, 2.831, 2.819, 2.807, 2.797, 2.787, 2.779,
    2.771, 2.763, 2.756,
];

/// How sure the interval is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    Percent95,
    Percent99,
}

impl Level {
    /// In percent.
    pub fn percent(self) -> u32 {
        match self {
            Self::Percent95 => 95,
            Self::Percent99 => 99,
        }
    }

    fn t(self, count: usize) -> f64 {
        let table = match self {
            Self::Percent95 => &T_95,
            Self::Percent99 => &T_99,
        };
        table[count - 2]
    }
}

/// What is to be reached, as -i and -I say it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Goal {
    pub level: Level,
    /// Whole width of the interval, as a share of the mean.
    pub width: f64,
    /// Repetitions that are done in any case.
    pub fewest: usize,
    /// Repetitions after which there are no more; 30 at most.
    pub most: usize,
    /// Whether the use of CPUs is left out of it.
    pub result_only: bool,
}

impl Default for Goal {
    fn default() -> Self {
        Self {
            level: Level::Percent99,
            width: 0.05,
            fewest: 3,
            most: 10,
            result_only: false,
        }
    }
}

/// Whole widths of the intervals, as shares of the means.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Widths {
    pub result: f64,
    pub local_cpu: f64,
    pub remote_cpu: f64,
}

impl Goal {
    /// How wide the intervals are after these repetitions; `None` after one.
    pub fn widths(&self, repetitions: &[Figures]) -> Option<Widths> {
        if repetitions.len() < 2 {
            return None;
        }
        let width = |of: fn(&Figures) -> f64| {
            let values: Vec<f64> = repetitions.iter().map(of).collect();
            relative_width(&values, self.level)
        };
        Some(Widths {
            result: width(|figures| figures.throughput),
            // What was not measured does not vary.
            local_cpu: width(|figures| figures.local.busy.unwrap_or_default()),
            remote_cpu: width(|figures| figures.remote.busy.unwrap_or_default()),
        })
    }

    /// Whether these widths are narrow enough.
    pub fn is_met(&self, widths: &Widths) -> bool {
        let Widths {
            result,
            local_cpu,
            remote_cpu,
        } = *widths;
        let widest = match self.result_only {
            true => result,
            false => result.max(local_cpu).max(remote_cpu),
        };
        widest <= self.width
    }

    /// Whether the test is to be repeated once more after these repetitions.
    pub fn wants_more(&self, repetitions: &[Figures]) -> bool {
        let count = repetitions.len();
        let is_met = self.widths(repetitions);
        let is_met = is_met.is_some_and(|widths| self.is_met(&widths));
        count < self.fewest || (count < self.most && !is_met)
    }
}

fn relative_width(values: &[f64], level: Level) -> f64 {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    if squares == 0.0 {
        return 0.0;
    }
    2.0 * level.t(values.len()) * (squares / (count - 1.0) / count).sqrt() / mean
}

/// What is said above the table when the goal was not reached.
pub fn warning(widths: &Widths) -> String {
    format!(
        "!!! WARNING\n\
         !!! Desired confidence was not achieved within the specified iterations.\n\
         !!! This implies that there was variability in the test environment that\n\
         !!! must be investigated before going further.\n\
         !!! Confidence intervals: Throughput      : {:.3}%\n\
         !!!                       Local CPU util  : {:.3}%\n\
         !!!                       Remote CPU util : {:.3}%\n\n",
        100.0 * widths.result,
        100.0 * widths.local_cpu,
        100.0 * widths.remote_cpu,
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::netperf::figures::Load;

    /// Repetitions with these results, and these shares of busy CPUs here.
    fn repetitions(results: &[f64], busy: &[f64]) -> Vec<Figures> {
        let figures = |(&throughput, &busy): (&f64, &f64)| Figures {
            elapsed_s: 1.0,
            throughput,
            rates: [0.0; 4],
            transactions: 0.0,
            round_trip_us: None,
            local: Load {
                busy: Some(busy),
                service_demand_us: None,
            },
            remote: Load::default(),
        };
        results.iter().zip(busy).map(figures).collect()
    }

    #[test]
    fn the_width_is_that_of_the_whole_interval_relative_to_the_mean() {
        let goal = Goal {
            level: Level::Percent95,
            ..Goal::default()
        };
        assert_eq!(goal.widths(&repetitions(&[7.0], &[0.5])), None);
        // s² = 4/3, so that 2·3.182·√(4/3/4)/11.
        let four = repetitions(&[10.0, 12.0, 12.0, 10.0], &[0.5; 4]);
        let widths = goal.widths(&four).unwrap();
        assert!((widths.result - 2.0 * 3.182 / 3_f64.sqrt() / 11.0).abs() < 1e-12);
        assert_eq!((widths.local_cpu, widths.remote_cpu), (0.0, 0.0));
    }

    #[test]
    fn cpus_count_unless_the_result_alone_is_asked_for() {
        let noisy = repetitions(&[5.0; 3], &[0.1, 0.9, 0.1]);
        let mut goal = Goal::default();
        assert!(goal.wants_more(&noisy));
        goal.result_only = true;
        assert!(!goal.wants_more(&noisy));
        let idle = repetitions(&[5.0; 3], &[0.0; 3]);
        assert!(!Goal::default().wants_more(&idle));
    }

    #[test]
    fn there_are_as_many_repetitions_as_allowed_and_no_more() {
        let wide: Vec<f64> = (1..=30).map(f64::from).collect();
        let busy = [0.5; 30];
        let goal = Goal {
            most: 30,
            ..Goal::default()
        };
        assert!(goal.wants_more(&[]));
        for count in 1..30 {
            assert!(goal.wants_more(&repetitions(&wide[..count], &busy)));
        }
        assert!(!goal.wants_more(&repetitions(&wide, &busy)));
        let alike = repetitions(&[1.0; 2], &busy);
        assert!(goal.wants_more(&alike), "three are the fewest");
    }
}
