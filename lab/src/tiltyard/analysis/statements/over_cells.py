"""Further findings across cells: losses of the winner, leads that rest on one part, crossovers."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from typing import Final

import numpy as np

from tiltyard.analysis.alike import alike
from tiltyard.analysis.contrast import Contrast
from tiltyard.analysis.quantity import GridCell, Measured, oriented
from tiltyard.analysis.statements.evidence import ALPHA, Candidate, Line, Result, Scene, lines
from tiltyard.analysis.statements.family import Family
from tiltyard.analysis.statements.numbers import interval, nearest, ratio
from tiltyard.analysis.statements.statement import Statement
from tiltyard.analysis.statements.verdicts import sentence
from tiltyard.analysis.verdict import Verdict
from tiltyard.stats.student import paired_ts
from tiltyard.stats.types import FloatArray
from tiltyard.units import count_of, part_of


def verdict_text(scene: Scene, contrast: Contrast) -> str:
    """The sentence of a verdict, without its full stop."""
    size = sum(len(one.contrasts) for one in scene.judged.every) if scene.judged else 0
    family = Family(size, "Benjamini–Hochberg")
    return sentence(contrast, scene.plan.design, family).removesuffix(".")


def lowest_p(contrast: Contrast) -> float:
    """The sequential p-value, 1 before the first look."""
    return contrast.interval.p if contrast.interval else 1.0


def adjusted_p(contrast: Contrast) -> float:
    """The p-value after the correction of its family, 1 before the first look."""
    return 1.0 if contrast.p_adjusted is None else contrast.p_adjusted


def _losses_tests(scene: Scene) -> Iterator[Result]:
    judged = scene.judged
    if judged is None or len(judged.cells) < 2:
        return
    for place, overall in enumerate(judged.index.contrasts):
        if overall.verdict not in ("faster", "slower"):
            continue
        opposite = "slower" if overall.verdict == "faster" else "faster"
        for cell, found in zip(scene.measured.cells, judged.cells, strict=True):
            if found.contrasts.columns["verdict"][place] == opposite:
                yield _losses_test(scene, cell, overall, found.contrasts[place])


def _losses_test(scene: Scene, cell: GridCell, overall: Contrast, here: Contrast) -> Result:
    systems = overall.system, overall.against
    winner, other = systems if overall.verdict == "faster" else systems[::-1]
    interval = here.interval
    claim = Candidate(
        subject=(winner, other),
        place=cell.label,
        metric=cell.metric.name,
        systems=(winner, other),
        blocks=interval.blocks if interval else 0,
        size=nearest(interval.low, interval.high) if interval else 0.0,
        sentence=(
            f"{scene.display}: {winner} wins against {other} over all "
            f"{count_of(len(scene.measured.cells), 'cell')}, but not everywhere: "
            f"{verdict_text(scene, here)}"
        ),
        evidence="both are verdicts after correction; over all cells, "
        f"{verdict_text(scene, overall)}",
        p_adjusted=max(adjusted_p(overall), adjusted_p(here)),
    )
    return Result(max(lowest_p(overall), lowest_p(here)), claim)


LOSSES: Final = Statement(
    name="losses",
    shown="further finding",
    says="WORKLOAD: SYSTEM wins over all cells, but not everywhere: in METRIC it is slower",
    test="a verdict on the mean over all cells and one of opposite sign on a cell, both corrected",
    min_blocks=7,
    correction="verdicts",
    make=_losses_tests,
)


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


def _leave_one_out_tests(scene: Scene) -> Iterator[Result]:
    judged = scene.judged
    if judged is None or judged.index.quantity.cells < 2:
        return
    rests = _rests(scene.measured)
    if len(rests.names) >= PARTS:
        for contrast in judged.index.contrasts:
            yield from _tests(scene, rests, contrast)


def _rests(measured: Measured) -> Rests:
    """Without each metric in turn, or without each point where there is one metric only."""
    cells = alike(measured.cells, lambda cell: cell.metric)
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
    if lead.shape[1] < LEAVE_ONE_OUT.min_blocks:
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
) -> Iterator[Candidate]:
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
        rest = Without(part, ending, (float(found.estimate[place]), low, high), lead.shape[1])
        yield _leave_one_out_claim(scene, contrast, systems, rest)


def _leave_one_out_claim(
    scene: Scene, contrast: Contrast, systems: tuple[str, str], without: Without
) -> Candidate:
    winner, other = systems
    estimate, low, high = without.lead
    whole = contrast.interval
    return Candidate(
        subject=(winner, without.part, high < 0),
        place=f"over {other}",
        metric=None,
        systems=systems,
        blocks=without.blocks,
        size=nearest(whole.low, whole.high) if whole else 0.0,
        sentence=(
            f"{scene.display}: the lead of {winner} over {other} rests on {without.part}: "
            f"{without.ending}; the lead is then {ratio(estimate, low, high)} "
            f"({interval(low, high)}, {count_of(without.blocks, 'block')})"
        ),
        evidence=(
            f"paired t interval of the mean over all cells without {without.part}, Bonferroni "
            f"over all parts that could be left out; with it, {verdict_text(scene, contrast)}"
        ),
    )


LEAVE_ONE_OUT: Final = Statement(
    name="leave-one-out",
    shown="further finding",
    says="WORKLOAD: the lead of SYSTEM over SYSTEM rests on METRIC: SYSTEM leads without it",
    test=(
        "paired t of the mean over all cells, where that has a verdict; printed where its interval "
        "without one metric (or one point) lies on the other side of equality or within the region "
        "of equivalence, Bonferroni over the parts"
    ),
    min_blocks=7,
    correction="family",
    make=_leave_one_out_tests,
)


def _crossover_tests(scene: Scene) -> Iterator[Result]:
    judged = scene.judged
    if judged is None:
        return
    for line in lines(scene.measured):
        cells = [judged.cells[place] for place in line.places]
        of_pairs = zip(*(cell.contrasts.verdicts for cell in cells), strict=True)
        for place, verdicts in enumerate(of_pairs):
            if crossed := _crossing(verdicts):
                contrasts = [cell.contrasts[place] for cell in cells]
                yield _crossover_test(scene, line, contrasts, *crossed)


def _crossing(verdicts: Sequence[Verdict]) -> tuple[int, int] | None:
    """The last level of the first winner and the first one of the other, where it is one change."""
    decided = [
        (place, verdict)
        for place, verdict in enumerate(verdicts)
        if verdict in ("faster", "slower")
    ]
    changes = [
        (earlier[0], later[0]) for earlier, later in pairwise(decided) if earlier[1] != later[1]
    ]
    return changes[0] if len(changes) == 1 else None


def _crossover_test(
    scene: Scene, line: Line, contrasts: Sequence[Contrast], before: int, after: int
) -> Result:
    decided = [found for found in contrasts if found.verdict in ("faster", "slower")]
    first, last = decided[0], decided[-1]
    winners = [
        found.system if found.verdict == "faster" else found.against for found in (first, last)
    ]
    axis, levels = line.axis, line.levels
    ends = [found.interval for found in (first, last) if found.interval]
    claim = Candidate(
        subject=(line.metric, axis, *winners),
        place=line.case,
        metric=scene.measured.cells[line.places[0]].metric.name,
        systems=(winners[0], winners[1]),
        blocks=min(end.blocks for end in ends),
        size=min(nearest(end.low, end.high) for end in ends),
        sentence=(
            f"{line.topic}: {winners[0]} wins up to {axis.label(levels[before])}, {winners[1]} "
            f"from {axis.label(levels[after])} on: {verdict_text(scene, first)}; "
            f"{verdict_text(scene, last)}"
        ),
        evidence=(
            "verdicts of opposite sign, each after correction over all cells; "
            f"{part_of(len(decided), len(contrasts), 'level')} decided, with one change of sign"
        ),
        p_adjusted=max(adjusted_p(first), adjusted_p(last)),
    )
    return Result(max(lowest_p(first), lowest_p(last)), claim)


CROSSOVER: Final = Statement(
    name="crossover",
    shown="further finding",
    says="METRIC: SYSTEM wins up to LEVEL, SYSTEM from LEVEL on",
    test=(
        "verdicts of opposite sign along an axis, each corrected over all cells, with one change "
        "of sign"
    ),
    min_blocks=7,
    correction="verdicts",
    make=_crossover_tests,
)
