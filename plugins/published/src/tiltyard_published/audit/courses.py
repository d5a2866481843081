"""The printed numbers of one system along one dimension."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from tiltyard.collected.stated import Span
from tiltyard_published.audit.scene import Place, Scene, UnfitError, Where, sized

_Others: TypeAlias = tuple[tuple[str, int | str], ...]
"""A point without the dimension that is followed."""


@dataclass(frozen=True)
class Course:
    """Two points or more, by level."""

    label: str
    """``ext4, random read``."""
    levels: tuple[int, ...]
    """Ascending."""
    spans: tuple[Span, ...]


def courses(where: Where, scene: Scene, over: str, systems: Sequence[str]) -> Iterator[Course]:
    """Every metric of every system, at every point of the other dimensions.

    Raises:
        UnfitError: if the dimension is not there, has names for levels, or has only one level.
    """
    groups: dict[tuple[str, str, _Others], list[Place]] = {}
    for place in scene.places(where):
        sized(over, place)
        others = tuple((name, level) for name, level in place.at.items() if name != over)
        groups.setdefault((place.workload.name, place.metric.name, others), []).append(place)
    for (_, _, others), places in groups.items():
        ordered = sorted(places, key=lambda place: sized(over, place))
        if len(ordered) < 2:
            raise UnfitError("over", f'there is only one level of "{over}"')
        at = "".join(f", {name} {level}" for name, level in others)
        for system in systems:
            yield Course(
                label=f"{system}, {ordered[0].metric.label}{at}",
                levels=tuple(sized(over, place) for place in ordered),
                spans=tuple(scene.spans(ordered, system)),
            )
