"""Along an axis, one system wins first and another one later."""

from collections.abc import Iterator
from itertools import pairwise

from tiltyard.analysis.contrast import Contrast
from tiltyard.analysis.observations.claim import Claim, Kind, Result, Scene
from tiltyard.analysis.observations.course import Line, lines
from tiltyard.analysis.observations.telling import nearest
from tiltyard.analysis.observations.verdicts import adjusted_p, lowest_p, told


def _look(scene: Scene) -> Iterator[Result]:
    judged = scene.judged
    if judged is None:
        return
    for line in lines(scene.measured):
        cells = [judged.cells[place] for place in line.places]
        for contrasts in zip(*(cell.contrasts for cell in cells), strict=True):
            if crossed := _crossing(contrasts):
                yield _test(scene, line, contrasts, *crossed)


def _crossing(contrasts: tuple[Contrast, ...]) -> tuple[int, int] | None:
    """The last level of the first winner and the first one of the other, where it is one change."""
    decided = [
        (place, found.verdict)
        for place, found in enumerate(contrasts)
        if found.verdict in ("faster", "slower")
    ]
    changes = [
        (earlier[0], later[0]) for earlier, later in pairwise(decided) if earlier[1] != later[1]
    ]
    return changes[0] if len(changes) == 1 else None


def _test(
    scene: Scene, line: Line, contrasts: tuple[Contrast, ...], before: int, after: int
) -> Result:
    decided = [found for found in contrasts if found.verdict in ("faster", "slower")]
    first, last = decided[0], decided[-1]
    winners = [
        found.system if found.verdict == "faster" else found.against for found in (first, last)
    ]
    axis, levels = line.axis, line.levels
    ends = [found.interval for found in (first, last) if found.interval]
    claim = Claim(
        subject=(line.metric, axis, *winners),
        place=line.case,
        metric=scene.measured.cells[line.places[0]].metric.name,
        systems=(winners[0], winners[1]),
        blocks=min(end.blocks for end in ends),
        size=min(nearest(end.low, end.high) for end in ends),
        sentence=(
            f"{line.topic}: {winners[0]} wins up to {axis.label(levels[before])}, {winners[1]} "
            f"from {axis.label(levels[after])} on: {told(scene, first)}; {told(scene, last)}"
        ),
        evidence=(
            "verdicts of opposite sign, each after correction over all cells; "
            f"{len(decided)} of {len(contrasts)} levels are decided, with one change of sign"
        ),
        p_adjusted=max(adjusted_p(first), adjusted_p(last)),
    )
    return Result(max(lowest_p(first), lowest_p(last)), claim)


KIND = Kind(
    name="crossover",
    says="METRIC: SYSTEM wins up to LEVEL, SYSTEM from LEVEL on",
    test=(
        "verdicts of opposite sign along an axis, each corrected over all cells, with one change "
        "of sign"
    ),
    min_blocks=7,
    correction="verdicts",
    look=_look,
)
