"""From where to where a dimension was varied: a workload at one level of it varies nothing."""

from collections.abc import Mapping

from pydantic import ConfigDict, Field

from tiltyard.units import format_size
from tiltyard_published.audit.kind import Held, Kind
from tiltyard_published.audit.scene import Scene, Where, size, sized


class States(Where):
    """The ends of a dimension that are stated."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)

    over: str = Field(description="The dimension.")
    first: int | str = Field(alias="from", description="Its least level: `1MB`.")
    last: int | str = Field(alias="to", description="Its greatest level.")


def _hold(states: States, scene: Scene) -> Held:
    levels: dict[str, list[int]] = {}
    for place in scene.places(states):
        levels.setdefault(place.workload.name, []).append(sized(states.over, place))
    ends = (size(states.first, "from"), size(states.last, "to"))
    found = {name: (min(own), max(own)) for name, own in levels.items()}
    fixed = {name: own for name, own in found.items() if own[0] == own[1]}
    varied = {name: own for name, own in found.items() if name not in fixed}
    if not varied:
        varied, fixed = fixed, {}
    whole = (min(low for low, _ in varied.values()), max(high for _, high in varied.values()))
    also = f"; not varied: {_told(fixed)}" if fixed else ""
    return Held(
        "follows" if whole == ends else "contradicted",
        _reach(*ends),
        _reach(*whole),
        f"In the tables, {states.over} goes: {_told(varied)}{also}.",
    )


def _told(ends: Mapping[str, tuple[int, int]]) -> str:
    return ", ".join(f"{name} {_reach(*own)}" for name, own in ends.items())


def _reach(low: int, high: int) -> str:
    return " to ".join(dict.fromkeys((format_size(low), format_size(high))))


KIND = Kind(
    name="extent",
    about="from where to where a dimension of the grid goes",
    states=States,
    hold=_hold,
)
