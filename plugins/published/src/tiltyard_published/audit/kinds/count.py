"""How many there are."""

from typing import Literal

from pydantic import Field

from tiltyard_published.audit.kind import Held, Kind
from tiltyard_published.audit.scene import Names, Scene, UnfitError, Where


class States(Where):
    """A number of things that is stated."""

    count: int = Field(ge=0, strict=True, description="As stated, also in words.")
    of: Literal["items", "points", "metrics", "systems"] = Field(
        description="`items`: those listed here. The others are counted in the tables: `points` of "
        "the grid, `metrics` (tests), `systems`."
    )
    items: Names = Field((), description="What the study lists, as printed.")


def _hold(states: States, scene: Scene) -> Held:
    if (states.of == "items") != bool(states.items):
        raise UnfitError("items", 'things are listed if and only if of = "items"')
    names = _counted(states, scene)
    named = ", ".join(names) if len(names) <= 16 else f"{names[0]} … {names[-1]}"
    return Held(
        "follows" if len(names) == states.count else "contradicted",
        str(states.count),
        str(len(names)),
        f"There are {len(names)}: {named}.",
    )


def _counted(states: States, scene: Scene) -> list[str]:
    if states.of == "items":
        return list(states.items)
    if states.of == "systems":
        return list(scene.systems)
    places = scene.places(states)
    if states.of == "metrics":
        return list(dict.fromkeys(place.metric.label for place in places))
    return list(dict.fromkeys(place.label for place in places))


KIND = Kind(
    name="count",
    about="how many tests, points or other things there are",
    states=States,
    hold=_hold,
)
