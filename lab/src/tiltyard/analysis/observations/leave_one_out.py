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
from tiltyard.analysis.observations.verdicts import told
from tiltyard.analysis.quantity import Measured, oriented
from tiltyard.stats.student import paired_ts
from tiltyard.stats.types import FloatArray

PARTS: Final = 3
"""Of two, each holds half of every lead."""


@dataclass(frozen=True)
class Rests:
    """The means over all cells but those of one part."""

    names: tuple[str, ...]
    """Of the parts: metrics, or points where there is one metric."""
    cells: FloatArray
    """How many cells are left, shape (parts,)."""
    log_values: FloatArray
    """Shape (parts, blocks, systems); more is better or less is, as for the whole."""


@dataclass(frozen=True)
class Without:
    """What remains of a lead without one part."""

    part: str
    ending: str
    """What that means, in words."""
    lead: tuple[float, float, float]
    """Estimate and interval of the log ratio."""
    blocks: int


def _look(scene: Scene) -> Iterator[Result]:
    judged = scene.judged
    if judged is None or len(judged.cells) < 2:
        return
    rests = _rests(scene.measured)
    if len(rests.names) >= PARTS:
        for contrast in judged.index.contrasts:
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
    left = np.array([len(cells) - len(own) for own in places], dtype=np.float64)
    sums = np.stack([total - stack[own].sum(axis=0) for own in places])
    return Rests(tuple(names), left, sums / left[:, np.newaxis, np.newaxis])


def _tests(scene: Scene, rests: Rests, contrast: Contrast) -> Iterator[Result]:
    systems = scene.measured.systems
    winner, other = contrast.system, contrast.against
    if contrast.verdict == "slower":
        winner, other = other, winner
    lead = rests.log_values[:, :, systems.index(winner)]
    lead = lead - rests.log_values[:, :, systems.index(other)]
    if contrast.quantity.direction == "lower":
        lead = -lead
    lead = lead[:, np.isfinite(lead).all(axis=0)]
    if lead.shape[1] < KIND.min_blocks:
        return
    # The mean over all cells is that of the means without each part, by their numbers of cells.
    whole = paired_ts((rests.cells @ lead / rests.cells.sum())[np.newaxis, :], ALPHA)
    p = float(whole.p[0])
    if contrast.verdict in ("faster", "slower") and whole.low[0] > 0:
        claims = list(_claims(scene, rests, contrast, (winner, other), lead))
    else:
        claims = []
    yield from (Result(p, claim) for claim in claims)
    if not claims:
        yield Result(p, None)


def _claims(
    scene: Scene, rests: Rests, contrast: Contrast, systems: tuple[str, str], lead: FloatArray
) -> Iterator[Claim]:
    """One for each part without which the lead, shape (parts, blocks), is gone."""
    winner, other = systems
    found = paired_ts(lead, ALPHA / len(rests.names))
    rope = math.log1p(scene.plan.design.equivalent_within)
    for place, part in enumerate(rests.names):
        low, high = float(found.low[place]), float(found.high[place])
        if high < 0:
            ending = f"{other} leads without it"
        elif -rope < low and high < rope:
            ending = f"without it {winner} and {other} are equivalent"
        else:
            continue
        rest = Without(part, ending, (float(found.estimate[place]), low, high), found.n)
        yield _claim(scene, contrast, systems, rest)


def _claim(scene: Scene, contrast: Contrast, systems: tuple[str, str], without: Without) -> Claim:
    winner, other = systems
    estimate, low, high = without.lead
    whole = contrast.interval
    return Claim(
        subject=(winner, without.part, high < 0),
        place=f"over {other}",
        metric=None,
        systems=systems,
        blocks=without.blocks,
        size=nearest(whole.low, whole.high) if whole else 0.0,
        sentence=(
            f"{scene.name}: the lead of {winner} over {other} rests on {without.part}: "
            f"{without.ending}; the lead is then {ratio(estimate, low, high)} "
            f"({interval(low, high)}, {without.blocks} blocks)"
        ),
        evidence=(
            f"paired t interval of the mean over all cells without {without.part}, Bonferroni "
            f"over all parts that could be left out; with it, {told(scene, contrast)}"
        ),
    )


KIND = Kind(
    name="leave-one-out",
    says="WORKLOAD: the lead of SYSTEM over SYSTEM rests on METRIC: SYSTEM leads without it",
    test=(
        "paired t of the mean over all cells, where that has a verdict; told where its interval "
        "without one metric (or one point) lies on the other side of equality or within the region "
        "of equivalence, Bonferroni over the parts"
    ),
    min_blocks=7,
    correction="family",
    look=_look,
)
