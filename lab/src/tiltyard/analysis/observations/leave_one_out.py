"""A lead over all cells that hangs on one of them."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import Final

import numpy as np

from tiltyard.analysis.contrast import Contrast
from tiltyard.analysis.observations.claim import ALPHA, Claim, Kind, Result, Scene
from tiltyard.analysis.observations.telling import interval, nearest, ratio
from tiltyard.analysis.observations.verdicts import adjusted_p, lowest_p, told
from tiltyard.analysis.quantity import Measured, oriented
from tiltyard.stats.signed_rank import SignedRanks, signed_ranks
from tiltyard.stats.types import FloatArray

PARTS: Final = 3
"""Of two, each holds half of every lead."""


@dataclass(frozen=True)
class Rests:
    """The means over all cells but those of one part."""

    names: tuple[str, ...]
    """Of the parts: metrics, or points where there is one metric."""
    log_values: FloatArray
    """Shape (parts, blocks, systems); more is better or less is, as for the whole."""


def _look(scene: Scene) -> Iterator[Result]:
    judged = scene.judged
    if judged is None or len(judged.cells) < 2:
        return
    contrasts = [one for one in judged.index.contrasts if one.verdict in ("faster", "slower")]
    rests = _rests(scene.measured)
    if len(rests.names) >= PARTS:
        for contrast in contrasts:
            yield from _tests(scene, rests, contrast)


def _rests(measured: Measured) -> Rests:
    """Without each metric in turn, or without each point where there is one metric only."""
    cells = measured.cells
    _, stack = oriented(cells)
    places = [list(group) for _, group in groupby(range(len(cells)), lambda at: cells[at].metric)]
    names = [cells[group[0]].metric.label for group in places]
    if len(places) == 1:
        places, names = [[at] for at in range(len(cells))], [cell.at_label for cell in cells]
    total = stack.sum(axis=0)
    values = [(total - stack[own].sum(axis=0)) / (len(cells) - len(own)) for own in places]
    return Rests(tuple(names), np.stack(values))


def _tests(scene: Scene, rests: Rests, contrast: Contrast) -> Iterator[Result]:
    systems = scene.measured.systems
    winner, other = contrast.system, contrast.against
    if contrast.verdict == "slower":
        winner, other = other, winner
    lead = rests.log_values[:, :, systems.index(winner)]
    lead = lead - rests.log_values[:, :, systems.index(other)]
    if contrast.quantity.direction == "lower":
        lead = -lead
    usable = lead[:, np.isfinite(lead).all(axis=0)]
    design = scene.plan.design
    # The lead may have been decided, and have stopped, before there was enough to take it apart.
    reached = [look for look in design.looks if look.blocks <= usable.shape[1] and look.t is None]
    if not reached:
        return
    found = signed_ranks(usable[:, : reached[-1].blocks], reached[-1].c)
    rope = math.log1p(design.equivalent_within)
    for place, name in enumerate(rests.names):
        if ending := _ending(found, place, rope, winner, other):
            claim = _claim(scene, contrast, name, (winner, other), ending, found, place)
            yield Result(lowest_p(contrast), claim)


def _ending(found: SignedRanks, place: int, rope: float, winner: str, other: str) -> str:
    """What remains without a part; empty if the winner stays the winner, or nothing is certain."""
    low, high = float(found.low[place]), float(found.high[place])
    if high < 0 and found.p[place] < ALPHA:
        return f"{other} leads without it"
    if -rope < low and high < rope:
        return f"without it {winner} and {other} are equivalent"
    return ""


def _claim(
    scene: Scene,
    contrast: Contrast,
    part: str,
    systems: tuple[str, str],
    ending: str,
    found: SignedRanks,
    place: int,
) -> Claim:
    parts = tuple(float(own[place]) for own in (found.estimate, found.low, found.high))
    estimate, low, high = parts
    winner, other = systems
    whole = contrast.interval
    return Claim(
        subject=(winner, part, high < 0),
        place=f"over {other}",
        metric=None,
        systems=systems,
        blocks=found.n,
        size=nearest(whole.low, whole.high) if whole else 0.0,
        sentence=(
            f"{scene.name}: the lead of {winner} over {other} rests on {part}: {ending}; the lead "
            f"is then {ratio(estimate, low, high)} ({interval(low, high, 95)}, {found.n} blocks)"
        ),
        evidence=(
            f"the mean over all cells without {part}, by the signed-rank interval of the latest "
            f"look; with it, {told(scene, contrast)}"
        ),
        p_adjusted=adjusted_p(contrast),
    )


KIND = Kind(
    name="leave-one-out",
    says="WORKLOAD: the lead of SYSTEM over SYSTEM rests on METRIC: SYSTEM leads without it",
    test=(
        "a verdict on the mean over all cells whose interval, without one metric (or one point), "
        "lies on the other side of equality, or within the region of equivalence"
    ),
    min_blocks=7,
    correction="verdicts",
    look=_look,
)
