"""Comparisons seen from the other side."""

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
