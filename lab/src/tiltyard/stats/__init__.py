"""Statistics: arrays in, frozen dataclasses out; every function cites its source.

This is a library of its own: it knows nothing of studies, files or reports. SciPy and others
do what they have; what they lack is here, and checked against R and statsmodels. They are imported
inside the functions, because they take longer to import than most commands take. For the same
reason nothing is imported here: each name comes from its module.

docs/reference/statistics.md lists the public names with their sources.
"""

from typing import Final

PUBLIC: Final = {
    "bimodal": "Dip Modes dip_test two_modes",
    "consistency": "SpreadRatio spread_ratios",
    "equivalence": "PairwiseTost pairwise_tost",
    "estimators": "AtOnce PairedBlocks",
    "family": "FamilyRules FamilyVerdicts judge_family",
    "level_shift": "LevelShift level_shift",
    "looks": "looks",
    "multiple": "benjamini_hochberg benjamini_yekutieli false_coverage_alpha holm",
    "outliers": "Outlier max_outlier",
    "permutation": "permutation_p",
    "planning": "Expected blocks_for_half_width blocks_needed blocks_to_find deviation_interval "
    "difference_found expected_looks pair_deviation prediction_interval",
    "replication": "VarianceComponents optimal_counts variance_components",
    "sequential": "Evidence RepeatedInterval Spending overall_alpha repeated_interval sequential_p",
    "signed_rank": "SignedRank largest_c nominal_p signed_rank signed_ranks walsh_averages",
    "steady": "SteadyState mser5 steady_state",
    "student": "paired_ts",
    "summary": "ValueSummary geometric_mean median_rank summarise",
    "trend": "Trend trend",
    "types": "Estimate",
    "welch": "Moments moments welch",
}
"""Module → its public names."""
