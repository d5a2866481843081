"""That two systems are about equal on average."""

from pydantic import Field

from tiltyard.collected.stated import geometric_mean
from tiltyard.units import count_of
from tiltyard_published.audit.kind import Held, Kind
from tiltyard_published.audit.outcomes import within
from tiltyard_published.audit.scene import Scene, Where
from tiltyard_published.audit.words import FLAT_PERCENT, signed


class States(Where):
    """Two systems that are said to be similar."""

    system: str = Field(description="One of them.")
    against: str = Field(description="The other.")


def _hold(states: States, scene: Scene) -> Held:
    scene.check(system=states.system, against=states.against)
    places = scene.places(states)
    pairs = zip(
        scene.spans(places, states.system), scene.spans(places, states.against), strict=True
    )
    ratios = [own.over(other) for own, other in pairs]
    mean = geometric_mean(ratios)
    reach = " to ".join(signed(pick(ratios, key=lambda one: one.value)) for pick in (min, max))
    return Held(
        within(mean.plus(-1).times(100), -FLAT_PERCENT, FLAT_PERCENT),
        f"similar, taken as {FLAT_PERCENT:g} % in the mean",
        signed(mean),
        f"{states.system} differs from {states.against} by {signed(mean)} in the geometric mean of "
        f"{count_of(len(ratios), 'point')}, point by point by {reach}; up to {FLAT_PERCENT:g} % "
        "in the mean "
        "counts as similar.",
    )


KIND = Kind(
    name="similar",
    about="that two systems are about equal on average: “almost matches”",
    states=States,
    hold=_hold,
)
