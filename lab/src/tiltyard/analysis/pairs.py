"""Comparisons seen from the other side, and the values that stand beside them."""

import math
from collections.abc import Mapping

from tiltyard.analysis.model import Comparison
from tiltyard.analysis.verdict import Verdict


def turned(pair: Comparison) -> Comparison:
    """The same comparison seen from the other side."""
    swapped: dict[Verdict, Verdict] = {"faster": "slower", "slower": "faster"}
    return pair.model_copy(
        update={
            "system": pair.against,
            "against": pair.system,
            "ratio": _inverse(pair.ratio),
            "low": _inverse(pair.high),
            "high": _inverse(pair.low),
            "open_low": pair.open_high,
            "open_high": pair.open_low,
            "verdict": swapped.get(pair.verdict, pair.verdict),
            "at_least": _inverse(pair.at_least),
            "geometric_mean_ratio": _inverse(pair.geometric_mean_ratio),
            "ahead": None if pair.ahead is None else 1 - pair.ahead,
            "differences": tuple(1 / ratio for ratio in pair.differences),
            "over": pair.over and pair.over.turned,
        }
    )


def _inverse(ratio: float | None) -> float | None:
    return None if ratio is None else 1 / ratio


def beside_ratios(
    values: Mapping[str, float], ratios: Mapping[str, float | None], baseline: str
) -> dict[str, float]:
    """System → the value that is printed beside its ratio: both multiply out.

    A ratio compares within blocks, so it need not be that of two medians. The baseline has its own
    value, another system that times the ratio; its own where either is missing.

    Args:
        values: of each system its own.
        ratios: of each system to the baseline.
        baseline: need not have a value.
    """
    base = values.get(baseline, 0.0)
    found = dict(values)
    for system, ratio in ratios.items():
        own = values.get(system)
        if own is not None and ratio and base and not math.isclose(own, base * ratio):
            found[system] = base * ratio
    return found
