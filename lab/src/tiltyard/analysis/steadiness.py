"""Whether trials were steady: checked on their time slices, never used to cut or to stop one."""

from collections.abc import Iterable, Iterator
from typing import Final

from tiltyard.analysis.model import Notice, Steadiness
from tiltyard.analysis.quantity import Measured
from tiltyard.analysis.warm_up import all_series_of
from tiltyard.plan.model import PlannedWorkload
from tiltyard.stats.steady import (
    HALVES_LEVEL,
    LEAST_SLICES,
    RANGE,
    SLOPE,
    WINDOWS,
    steady_state,
)
from tiltyard.units import count_of

LEAST_S: Final = 12.0
"""Six windows of the second half, a second each: shorter ones tell of noise, not of a state."""
UNSTEADY_SHARE: Final = 0.2
"""With a larger share of unsteady trials there is no steady state that a number could stand for."""


def steadiness(measured: Measured) -> Steadiness | None:
    """Whether the trials of a workload were steady after its warm-up; ``None`` before the first."""
    workload = measured.workload
    name = workload.spec.name
    if not any(measured.done):
        return None
    series = all_series_of(measured.trials, workload)
    if not series:
        return _untold(
            workload,
            "a trial yields several values, or work that its time slices do not show: no warm-up "
            "was removed, and whether it was steady cannot be told",
        )
    long = [
        one for one in series if one.total_s >= LEAST_S
        and len(one.rates) >= LEAST_SLICES
    ]  # fmt: skip
    if not long:
        return _untold(
            workload,
            f"{_removed(workload)}, and trials are too short to tell whether they were steady "
            f"({LEAST_S:g} s in {LEAST_SLICES} time slices would do)",
        )
    flagged = sum(not steady_state(one.rates, one.slice_s).steady for one in long)
    if flagged > UNSTEADY_SHARE * len(long):
        said = (
            f"no steady state; {flagged} of {count_of(len(long), 'trial')} still moved in their "
            "second half, "
            f"so no single number stands for it; {_removed(workload)}"
        )
    else:
        said = (
            f"steady in {len(long) - flagged} of {count_of(len(long), 'trial')}; "
            f"{_removed(workload)}"
        )
    return Steadiness(
        workload=name, trials=len(long), flagged=flagged, sentence=f"{workload.display}: {said}."
    )


def _untold(workload: PlannedWorkload, why: str) -> Steadiness:
    text = f"{workload.display}: {why}."
    return Steadiness(workload=workload.spec.name, trials=0, flagged=0, sentence=text)


def _removed(workload: PlannedWorkload) -> str:
    """What was left out at the start of each trial."""
    if not workload.warm_up_s:
        return "no warm-up was removed"
    return f"the first {workload.warm_up_s:.2g} s of each trial are left out, as the pilot found"


def unsteady(steady: Iterable[Steadiness | None]) -> Iterator[Notice]:
    """A warning for each workload that reached no steady state."""
    for found in steady:
        if found is None or found.flagged <= UNSTEADY_SHARE * found.trials:
            continue
        yield Notice(
            severity="warning",
            text=f"{found.workload} reached no steady state in {found.flagged} of "
            f"{count_of(found.trials, 'trial')}: over their second half, in {WINDOWS} parts, "
            "values differed by more than "
            f"{100 * RANGE:.0f} %, moved by more than {100 * SLOPE:.0f} %, or its halves differed "
            f"(p < {HALVES_LEVEL:g}). Its single number should not be a headline: look at the "
            "course over time.",
            advice="Make the trials longer, or find what fills up or heats up.",
        )
