"""Statistics: arrays in, frozen dataclasses out; every function cites its source.

This is a library of its own: it knows nothing of studies, files or reports. SciPy and others
do what they have; what they lack is here, and checked against R and statsmodels. They are imported
inside the functions, because they take longer to import than most commands take.

The names below are the public ones; docs/reference/statistics.md lists them with their sources.
"""

from tiltyard.stats.bimodal import Dip, Modes, dip_test, two_modes
from tiltyard.stats.bootstrap import bootstrap_interval
from tiltyard.stats.confidence_sequence import ConfidenceSequence, confidence_sequence
from tiltyard.stats.consistency import SpreadRatio, spread_ratios
from tiltyard.stats.equivalence import PairwiseTost, pairwise_tost
from tiltyard.stats.fairness import fairness, jain_index
from tiltyard.stats.family import FamilyRules, FamilyVerdicts, judge_family
from tiltyard.stats.level_shift import LevelShift, level_shift
from tiltyard.stats.looks import looks
from tiltyard.stats.means import geometric_mean_interval, geometric_ratio
from tiltyard.stats.multiple import (
    benjamini_hochberg,
    benjamini_yekutieli,
    false_coverage_alpha,
    holm,
)
from tiltyard.stats.outliers import Outlier, max_outlier
from tiltyard.stats.permutation import permutation_p
from tiltyard.stats.planning import (
    Expected,
    blocks_for_half_width,
    blocks_needed,
    blocks_to_find,
    deviation_interval,
    difference_found,
    expected_looks,
    pair_deviation,
    prediction_interval,
)
from tiltyard.stats.replication import VarianceComponents, optimal_counts, variance_components
from tiltyard.stats.sequential import (
    Evidence,
    RepeatedInterval,
    Spending,
    overall_alpha,
    repeated_interval,
    sequential_p,
)
from tiltyard.stats.signed_rank import (
    SignedRank,
    largest_c,
    nominal_p,
    signed_rank,
    signed_ranks,
    walsh_averages,
)
from tiltyard.stats.spread import quantile_interval, variation
from tiltyard.stats.steady import SteadyState, mser5, steady_state
from tiltyard.stats.student import paired_ts
from tiltyard.stats.summary import ValueSummary, geometric_mean, median_rank, summarise
from tiltyard.stats.totals import total_rate_ratio, total_ratio
from tiltyard.stats.trend import Trend, trend
from tiltyard.stats.types import Estimate
from tiltyard.stats.welch import Moments, moments, welch

__all__ = [
    "ConfidenceSequence",
    "Dip",
    "Estimate",
    "Evidence",
    "Expected",
    "FamilyRules",
    "FamilyVerdicts",
    "LevelShift",
    "Modes",
    "Moments",
    "Outlier",
    "PairwiseTost",
    "RepeatedInterval",
    "SignedRank",
    "Spending",
    "SpreadRatio",
    "SteadyState",
    "Trend",
    "ValueSummary",
    "VarianceComponents",
    "benjamini_hochberg",
    "benjamini_yekutieli",
    "blocks_for_half_width",
    "blocks_needed",
    "blocks_to_find",
    "bootstrap_interval",
    "confidence_sequence",
    "deviation_interval",
    "difference_found",
    "dip_test",
    "expected_looks",
    "fairness",
    "false_coverage_alpha",
    "geometric_mean",
    "geometric_mean_interval",
    "geometric_ratio",
    "holm",
    "jain_index",
    "judge_family",
    "largest_c",
    "level_shift",
    "looks",
    "max_outlier",
    "median_rank",
    "moments",
    "mser5",
    "nominal_p",
    "optimal_counts",
    "overall_alpha",
    "pair_deviation",
    "paired_ts",
    "pairwise_tost",
    "permutation_p",
    "prediction_interval",
    "quantile_interval",
    "repeated_interval",
    "sequential_p",
    "signed_rank",
    "signed_ranks",
    "spread_ratios",
    "steady_state",
    "summarise",
    "total_rate_ratio",
    "total_ratio",
    "trend",
    "two_modes",
    "variance_components",
    "variation",
    "walsh_averages",
    "welch",
]
