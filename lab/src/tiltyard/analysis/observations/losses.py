"""Where the winner of a workload is worse than the one it beats."""

from collections.abc import Iterator

from tiltyard.analysis.contrast import Contrast
from tiltyard.analysis.observations.claim import Claim, Kind, Result, Scene
from tiltyard.analysis.observations.telling import nearest
from tiltyard.analysis.observations.verdicts import adjusted_p, lowest_p, told
from tiltyard.analysis.quantity import GridCell


def _look(scene: Scene) -> Iterator[Result]:
    judged = scene.judged
    if judged is None or len(judged.cells) < 2:
        return
    for place, overall in enumerate(judged.index.contrasts):
        if overall.verdict not in ("faster", "slower"):
            continue
        opposite = "slower" if overall.verdict == "faster" else "faster"
        for cell, found in zip(scene.measured.cells, judged.cells, strict=True):
            contrast = found.contrasts[place]
            if contrast.verdict == opposite:
                yield _test(scene, cell, overall, contrast)


def _test(scene: Scene, cell: GridCell, overall: Contrast, here: Contrast) -> Result:
    systems = overall.system, overall.against
    winner, other = systems if overall.verdict == "faster" else systems[::-1]
    interval = here.interval
    claim = Claim(
        subject=(winner, other),
        place=cell.label,
        metric=cell.metric.name,
        systems=(winner, other),
        blocks=interval.blocks if interval else 0,
        size=nearest(interval.low, interval.high) if interval else 0.0,
        sentence=(
            f"{scene.name}: {winner} wins against {other} over all {len(scene.measured.cells)} "
            f"cells, but not everywhere: {told(scene, here)}"
        ),
        evidence=f"both are verdicts after correction; over all cells, {told(scene, overall)}",
        p_adjusted=max(adjusted_p(overall), adjusted_p(here)),
    )
    return Result(max(lowest_p(overall), lowest_p(here)), claim)


KIND = Kind(
    name="losses",
    says="WORKLOAD: SYSTEM wins over all cells, but not everywhere: in METRIC it is slower",
    test="a verdict on the mean over all cells and one of opposite sign on a cell, both corrected",
    min_blocks=7,
    correction="verdicts",
    look=_look,
)
