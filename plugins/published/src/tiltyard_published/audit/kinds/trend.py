"""How numbers change from the first level of a dimension to the last."""

from typing import Literal

from pydantic import Field

from tiltyard.collected.stated import Number, Span, Stated, geometric_mean
from tiltyard.units import count_of, format_size
from tiltyard_published.audit.courses import Course, courses
from tiltyard_published.audit.kind import Held, Kind
from tiltyard_published.audit.outcomes import above, worst
from tiltyard_published.audit.scene import Names, Scene, Where
from tiltyard_published.audit.words import MUCH_PERCENT, Bound, signed


class States(Where):
    """A change that is stated."""

    over: str = Field(description="The dimension.")
    system: Names = Field((), description="One or a list; by default all.")
    change: Literal["rises", "falls"] = Field(description="From its least level to its greatest.")
    much: bool = Field(False, description=f"By {MUCH_PERCENT:g} % or more.")
    about_percent: Number | None = Field(
        None, description="How large the change is about; of several systems their geometric mean."
    )


def _hold(states: States, scene: Scene) -> Held:
    found = list(courses(states, scene, states.over, scene.known(states.system, "system")))
    least = 1 + (MUCH_PERCENT / 100 if states.much else 0)
    outcomes = [above(_gone(course, states.change), least) for course in found]
    stated = f"{states.change}{' much' if states.much else ''}"
    ratios = [_ratio(course) for course in found]
    ends = (signed(pick(ratios, key=lambda one: one.value)) for pick in (min, max))
    extent = told = " to ".join(dict.fromkeys(ends))
    if states.about_percent is not None:
        bound = Bound("about", Stated(states.about_percent))
        mean = geometric_mean(ratios)
        percent = mean.plus(-1).times(100 if states.change == "rises" else -100)
        outcomes.append(bound.holds(percent))
        stated = f"{stated} by {bound.text} %"
        if len(found) > 1:
            told = f"{extent}; their geometric mean is {signed(mean)}"
    return Held(
        worst(outcomes),
        stated,
        extent,
        f"From the least {states.over} to the greatest, "
        f"{count_of(len(found), 'course changes', 'courses change')} by {told}"
        f"{_against(found, states.change)}.",
    )


def _ratio(course: Course) -> Span:
    """Last over first."""
    return course.spans[-1].over(course.spans[0])


def _gone(course: Course, change: str) -> Span:
    """How far it has gone the way that is stated: a ratio above 1 if it has."""
    first, last = course.spans[0], course.spans[-1]
    return last.over(first) if change == "rises" else first.over(last)


def _against(found: list[Course], change: str) -> str:
    """The steps that go the other way, by more than rounding."""
    steps = [
        f"{course.label} from {format_size(low)} to {format_size(high)} "
        f"({signed(later.over(earlier))})"
        for course in found
        for low, high, earlier, later in zip(
            course.levels, course.levels[1:], course.spans, course.spans[1:], strict=False
        )
        if (later.high < earlier.low if change == "rises" else later.low > earlier.high)
    ]
    return f"; not at every step: {', '.join(steps)}" if steps else ", at every step"


KIND = Kind(
    name="trend",
    about="that numbers rise or fall along a dimension, and by about how much",
    states=States,
    hold=_hold,
)
