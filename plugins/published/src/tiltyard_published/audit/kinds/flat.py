"""That nothing much changes along a dimension."""

from pydantic import Field

from tiltyard.collected.stated import Span
from tiltyard_published.audit.courses import courses
from tiltyard_published.audit.kind import Held, Kind
from tiltyard_published.audit.outcomes import below, worst
from tiltyard_published.audit.scene import Names, Scene, Where
from tiltyard_published.audit.words import FLAT_PERCENT


class States(Where):
    """Insensitivity that is stated."""

    over: str = Field(description="The dimension.")
    system: Names = Field((), description="One or a list; by default all.")


def _hold(states: States, scene: Scene) -> Held:
    spreads = []
    for course in courses(states, scene, states.over, scene.known(states.system, "system")):
        least, most = (pick(course.spans, key=lambda one: one.value) for pick in (min, max))
        # The farthest apart that what was rounded may have been, and the nearest.
        spread = Span(most.value / least.value, most.low / least.high, most.high / least.low)
        spreads.append((course.label, spread.plus(-1).times(100)))
    label, widest = max(spreads, key=lambda pair: pair[1].value)
    return Held(
        worst(below(spread, FLAT_PERCENT) for _, spread in spreads),
        f"insensitive, taken as {FLAT_PERCENT:g} % between least and most",
        f"{widest.value:.1f} % at the most",
        f"Over {states.over}, least and most of {len(spreads)} courses lie at the most "
        f"{widest.value:.1f} % apart ({label}); up to {FLAT_PERCENT:g} % counts as insensitive.",
    )


KIND = Kind(
    name="flat",
    about="that numbers stay the same along a dimension: “insensitive to”",
    states=States,
    hold=_hold,
)
