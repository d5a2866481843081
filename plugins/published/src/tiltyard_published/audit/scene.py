"""The numbers of a printed study, as claims ask for them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from tiltyard.analysis.axes import label_of, spoken_axes
from tiltyard.collected.model import CollectedMetric, CollectedWorkload, Collection, Reading
from tiltyard.collected.stated import Span, exactly
from tiltyard.frozen import Frozen
from tiltyard.study.problems import not_a, shown
from tiltyard.units import parse_size
from tiltyard_published.derived import Derived


class UnfitError(Exception):
    """A claim names something that the study does not have."""

    def __init__(self, key: str, text: str) -> None:
        self.key = key
        self.text = text
        super().__init__(f"{key}: {text}")


class AbsentError(UnfitError):
    """What a claim is about could be printed, and is not: nothing decides it then."""


def _one_or_more(typed: Any) -> Any:
    return [typed] if isinstance(typed, str) else typed


Names = Annotated[tuple[str, ...], BeforeValidator(_one_or_more)]
"""One name, or a list of them."""


class Stretch(Frozen):
    """Part of a dimension, both ends included."""

    first: int | str
    last: int | str


def _level(typed: Any) -> Any:
    if isinstance(typed, dict) and typed.keys() == {"from", "to"}:
        return Stretch(first=_point(typed["from"]), last=_point(typed["to"]))
    return typed if isinstance(typed, Stretch) else _point(typed)


def _point(typed: object) -> int | str:
    if isinstance(typed, bool) or not isinstance(typed, int | str):
        raise ValueError(
            f"{shown(typed)} is neither a point nor a stretch of it. Write it like "
            '"64KB", or { from = "512B", to = "64KB" }'
        )
    return typed


Level = Annotated[int | str | Stretch, BeforeValidator(_level)]
"""Where in a dimension numbers are meant."""


class Where(Frozen):
    """Which numbers a claim is about."""

    workload: Names = Field((), description="One or a list; by default all.")
    metric: Names = Field((), description="One or a list; by default all.")
    at: dict[str, Level] = Field(
        default_factory=dict,
        description='Points of the grid: `{ record = "1MB" }`, `{ record = { from = …, to = … } }`'
        "; by default all.",
    )


@dataclass(frozen=True)
class Place:
    """One metric at one point of one workload."""

    workload: CollectedWorkload
    metric: CollectedMetric
    at: Mapping[str, int | str]
    label: str
    """The point in words; empty where there is no grid."""

    @property
    def topic(self) -> str:
        """``random read, 1 MiB record``."""
        return ", ".join(filter(None, (self.metric.label, self.label)))


@dataclass(frozen=True)
class Scene:
    """A printed study with everything that claims can be about."""

    collection: Collection
    derived: tuple[Derived, ...] = ()

    @cached_property
    def systems(self) -> tuple[str, ...]:
        """All of them, in their order."""
        return tuple(system.name for system in self.collection.systems)

    def known(self, names: Sequence[str], key: str) -> tuple[str, ...]:
        """Systems by name; all of them where none is named."""
        for name in names:
            if name not in self.systems:
                raise UnfitError(key, not_a(name, "system", self.systems))
        return tuple(names) or self.systems

    def check(self, **named: str | Sequence[str]) -> None:
        """Hold systems against those of the study, and the last of them against the others.

        Args:
            named: key → what stands there.
        """
        sides = {
            key: self.known([names] if isinstance(names, str) else names, key)
            for key, names in named.items()
        }
        *_, last = sides
        for name in sides[last]:
            if any(name in own for key, own in sides.items() if key != last):
                raise UnfitError(last, f"{shown(name)} is compared with itself")

    def workloads(self, where: Where) -> list[CollectedWorkload]:
        """Those that a claim is about."""
        known = {workload.name: workload for workload in self.collection.workloads}
        for name in where.workload:
            if name not in known:
                raise UnfitError("workload", not_a(name, "workload", known))
        return [known[name] for name in where.workload or known]

    def places(self, where: Where) -> list[Place]:
        """Every metric at every point that a claim is about, in the order of the tables."""
        workloads = self.workloads(where)
        metrics = list(dict.fromkeys(m.name for workload in workloads for m in workload.metrics))
        for name in where.metric:
            if name not in metrics:
                raise UnfitError("metric", not_a(name, "metric", metrics))
        dimensions = list(dict.fromkeys(name for workload in workloads for name in workload.grid))
        for name in where.at:
            if name not in dimensions:
                raise UnfitError("at", not_a(name, "dimension", dimensions))
        found = [
            place
            for workload in workloads
            for place in self._all[workload.name]
            if (not where.metric or place.metric.name in where.metric)
            and all(_meets(place.at.get(name), wanted) for name, wanted in where.at.items())
        ]
        if not found:
            raise UnfitError("at" if where.at else "workload", "no printed number is there")
        return found

    def reading(self, place: Place, system: str) -> Reading | None:
        """What is printed of a system there."""
        return self._readings.get((place.workload.name, place.metric.name, system, _key(place.at)))

    def span(self, place: Place, system: str) -> Span | None:
        """Its value in base units with what rounding leaves open; ``None`` where none is."""
        reading = self.reading(place, system)
        if reading is None:
            return None
        if reading.mean is None:
            return exactly(sum(reading.values) / len(reading.values)) if reading.values else None
        printed = place.metric.printed
        half = 0.5 * 10.0**-printed.decimals * printed.factor if printed else 0.0
        return Span(reading.mean, reading.mean - half, reading.mean + half)

    def spans(self, places: Sequence[Place], system: str) -> list[Span]:
        """Its values at all of these places.

        Raises:
            AbsentError: if one is missing or not positive: nothing can be calculated then.
        """
        found = []
        for place in places:
            span = self.span(place, system)
            if span is None:
                raise AbsentError("system", f"{system} has no number at {place.topic}")
            found.append(positive(span, system, place))
        return found

    @cached_property
    def _readings(self) -> dict[tuple[object, ...], Reading]:
        return {
            (workload.name, reading.metric, reading.system, _key(reading.at)): reading
            for workload in self.collection.workloads
            for reading in workload.readings
        }

    @cached_property
    def _all(self) -> dict[str, list[Place]]:
        return {workload.name: _places(workload) for workload in self.collection.workloads}


def _places(workload: CollectedWorkload) -> list[Place]:
    found = []
    for metric in workload.metrics:
        own = {
            _key(reading.at): reading.at
            for reading in workload.readings
            if reading.metric == metric.name
        }
        axes = spoken_axes(own.values())
        found += [Place(workload, metric, at, label_of(at, axes)) for at in own.values()]
    return found


def _key(at: Mapping[str, int | str]) -> tuple[tuple[str, int | str], ...]:
    return tuple(sorted(at.items()))


def _meets(level: int | str | None, wanted: int | str | Stretch) -> bool:
    if level is None:
        return False
    if isinstance(wanted, Stretch):
        if isinstance(level, str):
            raise UnfitError("at", f"{shown(level)} is a name: there is nothing from it to another")
        return size(wanted.first) <= level <= size(wanted.last)
    return level == (wanted if isinstance(level, str) else size(wanted))


def size(typed: int | str, key: str = "at") -> int:
    """Bytes, or a plain number; ``key`` is where a claim has it."""
    try:
        return parse_size(typed)
    except ValueError as error:
        raise UnfitError(key, str(error)) from error


def sized(over: str, place: Place) -> int:
    """The level of a place in a dimension with sizes.

    Raises:
        UnfitError: if the dimension is not there, or its levels have names.
    """
    level = place.at.get(over)
    if isinstance(level, int):
        return level
    sizes = [name for name, own in place.at.items() if isinstance(own, int)]
    raise UnfitError("over", not_a(over, "dimension with sizes", sizes))


def positive(span: Span, system: str, place: Place) -> Span:
    """A number of which ratios can be taken.

    Raises:
        AbsentError: if it is zero, may round to it, or is less.
    """
    if span.low <= 0:
        raise AbsentError("system", f"{system} has no positive number at {place.topic}")
    return span
