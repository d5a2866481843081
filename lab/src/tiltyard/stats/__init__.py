"""Statistics: arrays in, frozen dataclasses out; every function cites its source.

This is a library of its own: it knows nothing of studies, files or reports. SciPy, statsmodels and
others do what they have; what they lack is here and checked against them. They are imported inside
the functions, because they take longer to import than most commands take.

The names below are the public ones; docs/reference/statistics.md lists them with their sources.
"""

from tiltyard.stats.bootstrap import bootstrap_interval
from tiltyard.stats.confidence_sequence import ConfidenceSequence, confidence_sequence
from tiltyard.stats.fairness import fairness, jain_index
from tiltyard.stats.means import geometric_mean_interval, geometric_ratio
from tiltyard.stats.multiple import (
    benjamini_hochberg,
    benjamini_yekutieli,
    false_coverage_alpha,
    holm,
)
from tiltyard.stats.sequential import (
    RepeatedInterval,
    looks,
    overall_alpha,
    repeated_interval,
    sequential_p,
)
from tiltyard.stats.signed_rank import (
    SignedRank,
    SignedRanks,
    largest_c,
    nominal_p,
    signed_rank,
    signed_ranks,
    walsh_averages,
)
from tiltyard.stats.spread import quantile_interval, variation
from tiltyard.stats.summary import ValueSummary, geometric_mean, median_rank, summarise
from tiltyard.stats.totals import total_rate_ratio, total_ratio
from tiltyard.stats.trend import Trend, trend
from tiltyard.stats.types import Estimate
from tiltyard.stats.welch import MeanDifferences, Moments, moments, welch

__all__ = [
    "ConfidenceSequence",
    "Estimate",
    "MeanDifferences",
    "Moments",
    "RepeatedInterval",
    "SignedRank",
    "SignedRanks",
    "Trend",
    "ValueSummary",
    "benjamini_hochberg",
    "benjamini_yekutieli",
    "bootstrap_interval",
    "confidence_sequence",
    "fairness",
    "false_coverage_alpha",
    "geometric_mean",
    "geometric_mean_interval",
    "geometric_ratio",
    "holm",
    "jain_index",
    "largest_c",
    "looks",
    "median_rank",
    "moments",
    "nominal_p",
    "overall_alpha",
    "quantile_interval",
    "repeated_interval",
    "sequential_p",
    "signed_rank",
    "signed_ranks",
    "summarise",
    "total_rate_ratio",
    "total_ratio",
    "trend",
    "variation",
    "walsh_averages",
    "welch",
]
