"""A mean over the printed numbers of one system."""

from typing import Final, Literal

from pydantic import Field

from tiltyard.collected.stated import Number, Span, Stated, arithmetic_mean, geometric_mean
from tiltyard.units import count_of
from tiltyard_published.audit.kind import Held, Kind
from tiltyard_published.audit.outcomes import equal
from tiltyard_published.audit.scene import Place, Scene, UnfitError, Where

Mean = Literal["geometric-mean", "mean"]
NAMES: Final[dict[Mean, str]] = {
    "geometric-mean": "geometric mean",
    "mean": "arithmetic mean",
}


class States(Where):
    """A mean that is stated."""

    number: Number = Field(description="As printed, in the unit of the tables.")
    system: str = Field(description="Whose numbers are averaged.")
    of: Mean = Field("geometric-mean", description="`mean` is the arithmetic one.")


def mean_of(kind: Mean, scene: Scene, places: list[Place], system: str) -> Span:
    """A mean over places, in base units, with what rounding leaves open."""
    spans = scene.spans(places, system)
    return geometric_mean(spans) if kind == "geometric-mean" else arithmetic_mean(spans)


def _hold(states: States, scene: Scene) -> Held:
    scene.check(system=states.system)
    places = scene.places(states)
    forms = {place.metric.printed for place in places}
    form = next(iter(forms))
    if len(forms) > 1 or form is None:
        raise UnfitError("metric", "numbers in several units have no mean")
    times = mean_of(states.of, scene, places, states.system).times(1 / form.factor)
    stated = Stated(states.number)
    printed = stated.digits_of(times.value)
    return Held(
        equal(stated, times),
        f"{stated.digits_of(stated.value)} {form.unit}",
        f"{printed} {form.unit}",
        f"The {NAMES[states.of]} of the {count_of(len(places), 'printed number')} of "
        f"{states.system} is {printed} {form.unit}; what they were rounded of leaves "
        f"{times.low:,.{_more(stated)}f} to {times.high:,.{_more(stated)}f} possible.",
    )


def _more(stated: Stated) -> int:
    return stated.decimals + 2


KIND = Kind(
    name="mean",
    about="a geometric or arithmetic mean over the printed numbers of one system",
    states=States,
    hold=_hold,
)
