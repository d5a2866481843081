"""Whether differences that are shown are larger than their error bars."""

from itertools import chain, combinations
from typing import Final

from pydantic import Field

from tiltyard.analysis.dataset import Dataset, Point
from tiltyard.analysis.estimators import Evidence, unpaired
from tiltyard.units import count_of
from tiltyard_published.audit.kind import Held, Kind
from tiltyard_published.audit.scene import AbsentError, Names, Place, Scene, UnfitError, Where

_FEW: Final = 6


class States(Where):
    """Differences that are shown."""

    system: Names = Field((), description="Two or more, each with each; by default all.")
    against: Names = Field(
        (), description="As many as in `system`: then first against first, second against second …"
    )


def _hold(states: States, scene: Scene) -> Held:
    systems = scene.known(states.system, "system")
    pairs = list(combinations(systems, 2))
    if states.against:
        against = scene.known(states.against, "against")
        if len(against) != len(systems):
            raise UnfitError(
                "against", f"{count_of(len(against), 'system')} against {len(systems)}"
            )
        pairs = list(zip(systems, against, strict=True))
    places = scene.places(states)
    found = [
        (f"{first} / {second}" + (f" ({place.topic})" if len(places) > 1 else ""), one)
        for place in places
        for (first, second), one in _compared(scene, place, pairs)
    ]
    if not found:
        raise AbsentError("system", "nowhere is there a number of both")
    ends = [(label, one.interval()) for label, one in found]
    unknown = [label for label, own in ends if own is None]
    together = [label for label, own in ends if own is not None and own[0] <= 0 <= own[1]]
    apart = len(found) - len(unknown) - len(together)
    count = f"{apart} of {count_of(len(found), 'pair')} separated"
    told = "".join(
        f"; {what} {_some(labels)}"
        for what, labels in (("not", together), ("of no known spread", unknown))
        if labels
    )
    return Held(
        "open" if together or unknown else "follows",
        count_of(len({*chain(*pairs)}) * len(places), "value"),
        count,
        f"By Welch's 95 % interval from means, standard errors and N, each by itself (not "
        "corrected for many, as verdicts are) and with what their last digits leave open, "
        f"{count}{told}.",
    )


def _compared(
    scene: Scene, place: Place, pairs: list[tuple[str, str]]
) -> list[tuple[tuple[str, str], Evidence]]:
    names, heaps = [], []
    for pair in pairs:
        readings = [one for name in pair if (one := scene.reading(place, name)) is not None]
        if len(readings) < len(pair):
            continue
        point = Point(place.metric, {}, "", dict(zip(pair, readings, strict=True)), 0)
        found = Dataset.of([point], pair).samples([0])
        if len(found) == len(pair):
            names.append(pair)
            heaps.append((found[pair[0]], found[pair[1]]))
    return list(zip(names, unpaired(heaps), strict=True))


def _some(labels: list[str]) -> str:
    rest = len(labels) - _FEW
    return ", ".join(labels[:_FEW]) + (f" and {rest} more" if rest > 0 else "")


KIND = Kind(
    name="separated",
    about="that differences are larger than the error bars which are printed beside them",
    states=States,
    hold=_hold,
)
