"""How large standard deviations are beside their means."""

from pydantic import Field

from tiltyard.collected.stated import Number, Span, Stated
from tiltyard_published.audit.kind import Held, Kind
from tiltyard_published.audit.outcomes import below, worst
from tiltyard_published.audit.scene import AbsentError, Names, Scene, Where


class States(Where):
    """A bound on deviations that is stated."""

    less_than_percent: Number = Field(description="Of the mean.")
    system: Names = Field((), description="One or a list; by default all.")
    beside: Names = Field((), description="Workloads whose largest deviation is stated beside it.")


def _hold(states: States, scene: Scene) -> Held:
    systems = scene.known(states.system, "system")
    shares = _shares(states, scene, systems)
    label, most = max(shares, key=lambda pair: pair[1].value)
    bound = Stated(states.less_than_percent).value
    told = ""
    if states.beside:
        others = _shares(Where(workload=states.beside), scene, systems)
        other, farthest = max(others, key=lambda pair: pair[1].value)
        above = sum(share.value >= bound for _, share in others)
        told = (
            f"; of the {len(others)} in {' and '.join(states.beside)} that does not hold of "
            f"{above}, up to {farthest.value:.1f} % ({other})"
        )
    return Held(
        worst(below(share, bound) for _, share in shares),
        f"less than {states.less_than_percent} %",
        f"{most.value:.2f} % at the most",
        f"The largest of {len(shares)} deviations is {most.value:.2f} % of its mean ({label})"
        f"{told}.",
    )


def _shares(where: Where, scene: Scene, systems: tuple[str, ...]) -> list[tuple[str, Span]]:
    """Deviation over mean, in percent, with what rounding leaves open."""
    found = []
    for place in scene.places(where):
        form = place.metric.printed
        half = 0.5 * 10.0**-form.decimals * form.factor if form else 0.0
        for system in systems:
            reading, mean = scene.reading(place, system), scene.span(place, system)
            if reading is None or reading.sd is None or mean is None or mean.low <= 0:
                raise AbsentError("workload", f"{system} has no deviation at {place.topic}")
            sd = Span(reading.sd, max(0.0, reading.sd - half), reading.sd + half)
            found.append((f"{system}, {place.topic}", sd.over(mean).times(100)))
    return found


KIND = Kind(
    name="deviation",
    about="that standard deviations are small beside their means",
    states=States,
    hold=_hold,
)
