"""Comparisons seen from the other side, the values beside them, and the ranks that follow."""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

from tiltyard.analysis.model import Comparison, Standing
from tiltyard.analysis.verdict import OtherAnalysis, Verdict, turned_estimate

_SWAPPED: Final[dict[Verdict, Verdict]] = {"faster": "slower", "slower": "faster"}


def turned(pair: Comparison) -> Comparison:
    """The same comparison seen from the other side."""
    return pair.model_copy(
        update={
            "system": pair.against,
            "against": pair.system,
            **vars(turned_estimate(pair)),
            "open_low": pair.open_high,
            "open_high": pair.open_low,
            "verdict": _SWAPPED.get(pair.verdict, pair.verdict),
            "at_least": _inverse(pair.at_least),
            "geometric_mean_ratio": _inverse(pair.geometric_mean_ratio),
            "ahead": None if pair.ahead is None else 1 - pair.ahead,
            "differences": tuple(1 / ratio for ratio in pair.differences),
            "over": pair.over and pair.over.turned,
            "beside": pair.beside and _turned_beside(pair.beside),
        }
    )


def _turned_beside(other: OtherAnalysis) -> OtherAnalysis:
    """No verdict of one side stands beside a ratio of the other one."""
    verdict = _SWAPPED.get(other.verdict, other.verdict)
    return other.model_copy(update={**vars(turned_estimate(other)), "verdict": verdict})


def _inverse(ratio: float | None) -> float | None:
    return None if ratio is None else 1 / ratio


def between(comparisons: Iterable[Comparison], system: str, against: str) -> Comparison | None:
    """The comparison of two systems, from the first one's side; ``None`` if there is none."""
    for pair in comparisons:
        if (pair.system, pair.against) == (system, against):
            return pair
        if (pair.system, pair.against) == (against, system):
            return turned(pair)
    return None


def against(comparisons: Sequence[Comparison], baseline: str) -> list[Comparison]:
    """Every system against the baseline, turned where the pair was stored the other way."""
    return [
        pair if pair.against == baseline else turned(pair)
        for pair in comparisons
        if baseline in (pair.system, pair.against)
    ]


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


def standings(
    values: Mapping[str, float],
    own: Mapping[str, float],
    direction: str,
    judged: Iterable[tuple[tuple[str, str], Verdict]],
    comparison: Callable[[str], Comparison | None],
    *,
    has_ranks: bool,
) -> tuple[Standing, ...]:
    """Systems with values, best first.

    Ranks that the verdicts leave possible are given where those hold together (Holm): they are then
    right for all systems at once.

    Source: Mogstad, Romano, Shaikh and Wilhelm, "Inference for ranks", Rev. Econ. Stud. 91 (2024).

    Args:
        values: System → what is printed.
        own: the same without regard to ratios.
        direction: of these.
        judged: of each comparison both sides and the verdict on the first.
        comparison: of a system with the baseline.
        has_ranks: whether the verdicts hold together.
    """
    best_first = sorted(values, key=values.__getitem__, reverse=direction == "higher")
    better, worse = Counter[str](), Counter[str]()
    for pair, verdict in judged:
        if verdict in ("faster", "slower") and values.keys() >= {*pair}:
            winner, loser = pair if verdict == "faster" else pair[::-1]
            worse[winner] += 1
            better[loser] += 1
    return tuple(
        Standing(
            rank=rank,
            rank_best=1 + better[system] if has_ranks else None,
            rank_worst=len(best_first) - worse[system] if has_ranks else None,
            system=system,
            value=values[system],
            own_value=None if values[system] == own[system] else own[system],
            comparison=comparison(system),
        )
        for rank, system in enumerate(best_first, 1)
    )
