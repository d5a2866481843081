"""Printed numbers → readings and derived numbers, in base units."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Final, TypeVar

from tiltyard.collected.model import CollectedWorkload, PrintedAs, Reading, SourceMean
from tiltyard.study.problems import not_a, shown
from tiltyard_published.derived import Derived
from tiltyard_published.file import (
    PrintedMetric,
    PrintedTable,
    PrintedWorkload,
    PublishedFile,
)
from tiltyard_published.tables import Printed

STATISTICS: Final = ("mean", "sd", "se", "n")
_UNITS: Final[Mapping[str, int]] = {"B": 1, "KB": 2**10, "MB": 2**20, "GB": 2**30, "number": 1}
_LARGEST: Final = 1e100
"""More is a slip of the keyboard, and the square of it no float."""
_COUNT: Final = re.compile(r"0*[1-9][0-9]{0,8}")
_LEVEL: Final = re.compile(r"[0-9]{1,15}")
_NO_WORD = re.compile(r"[^a-z0-9]+")

_Named = TypeVar("_Named")
_Place = tuple[str, str, str, tuple[tuple[str, int | str], ...]]
"""Workload, metric, system, point of the grid."""


def exact(text: str, printed: PrintedAs) -> float:
    """A printed number in base units: the float that is nearest to the exact product."""
    return float(Decimal(text) * Decimal(repr(printed.factor)))


@dataclass
class Shelves:
    """Where the numbers of a study's tables are put, one table after the other."""

    file: PublishedFile
    derived: list[Derived] = field(default_factory=list)
    _readings: dict[_Place, dict[str, float]] = field(default_factory=dict)

    def put(self, table: PrintedTable, numbers: Iterable[Printed]) -> None:
        """Put each number where it belongs.

        Raises:
            UsageError: if a number belongs nowhere, or where another one is; it names file, line
                and column.
        """
        for number in numbers:
            workload = _known(number, "workload", {one.name: one for one in self.file.workload})
            metric = _known(number, "metric", {one.name: one for one in workload.metric})
            if table.means or number.column in table.advantages or number.row[0] in table.averages:
                self.derived.append(self._derived(table, number, workload, metric))
            else:
                self._read(table, number, workload, metric)

    def workloads(self) -> tuple[CollectedWorkload, ...]:
        """The workloads with their readings, in the order of the tables."""
        return tuple(
            CollectedWorkload(
                **one.model_dump(exclude={"grid", "metric"}),
                grid=tuple(one.grid),
                metrics=one.metric,
                readings=tuple(
                    Reading.model_validate(
                        {"metric": metric, "system": system, "at": dict(at), **parts}
                    )
                    for (workload, metric, system, at), parts in self._readings.items()
                    if workload == one.name
                ),
                means=tuple(self._means(one.name)),
            )
            for one in self.file.workload
        )

    def _means(self, workload: str) -> Iterator[SourceMean]:
        """What the tables print over all points of a workload."""
        for one in self.derived:
            of = one.of if one.kind == "advantage" else one.kind
            if one.workload == workload and of in ("geometric-mean", "mean"):
                known = one.model_dump(include={"metric", "system", "against", "text"})
                yield SourceMean(of=of, **known)

    def _read(
        self, table: PrintedTable, number: Printed, workload: PrintedWorkload, metric: PrintedMetric
    ) -> None:
        statistic = number.says.get("statistic", "mean")
        if statistic not in STATISTICS:
            raise number.error(not_a(statistic, "statistic", STATISTICS))
        at = tuple(_point(number, workload).items())
        place = (workload.name, metric.name, self._system(number), at)
        parts = self._readings.setdefault(place, {} if table.n is None else {"n": table.n})
        if statistic in parts:
            raise number.error(f"there is already a {statistic} of this system at this point")
        parts[statistic] = _value(number, statistic, metric.printed)

    def _derived(
        self, table: PrintedTable, number: Printed, workload: PrintedWorkload, metric: PrintedMetric
    ) -> Derived:
        over = "mean" if number.row[0] in table.averages else table.means
        known = {
            "id": _identifier(number),
            "where": table.where,
            "workload": workload.name,
            "metric": metric.name,
            "text": number.text,
        }
        advantage = table.advantages.get(number.column)
        if advantage is None:
            printed = metric.printed.model_copy(update={"decimals": number.decimals})
            return Derived.model_validate(
                {
                    **known,
                    "kind": over,
                    "system": self._system(number),
                    "value": _value(number, "mean", printed),
                    "printed": printed,
                }
            )
        percent = PrintedAs(unit="%", factor=0.01, decimals=number.decimals)
        return Derived.model_validate(
            {
                **known,
                "kind": "advantage",
                "system": advantage.system,
                "against": advantage.against,
                "of": over,
                "at": {} if over else _point(number, workload),
                "value": _value(number, "mean", percent),
                "printed": percent,
            }
        )

    def _system(self, number: Printed) -> str:
        return _known(number, "system", {one.name: one for one in self.file.system}).name


def _value(number: Printed, statistic: str, printed: PrintedAs) -> float:
    """A count, or a number in base units."""
    if statistic == "n":
        if not _COUNT.fullmatch(number.text):
            raise number.error(f"{shown(number.text)} is not a count")
        return int(number.text)
    if statistic in ("sd", "se") and number.text.startswith("-"):
        raise number.error(f"{shown(number.text)} is not a spread: that is never negative")
    value = exact(number.text, printed)
    if abs(value) > _LARGEST:
        raise number.error(f"{shown(number.text)} is too large for a number")
    return value


def _known(number: Printed, role: str, known: Mapping[str, _Named]) -> _Named:
    """The workload, system or metric that a number is of."""
    said = number.says.get(role)
    if said is None:
        raise number.error(f"nothing says of which {role} this is")
    if said not in known:
        raise number.error(not_a(said, role, known))
    return known[said]


def _point(number: Printed, workload: PrintedWorkload) -> dict[str, int | str]:
    """Where in its workload's grid a number was measured: sizes in bytes."""
    at: dict[str, int | str] = {}
    for dimension, unit in workload.grid.items():
        said = number.says.get(dimension)
        if said is None:
            raise number.error(f"nothing says at which {dimension} this is")
        if unit != "text" and not _LEVEL.fullmatch(said):
            raise number.error(
                f"{dimension} {shown(said)} is not a whole number of at most 15 digits"
            )
        at[dimension] = said if unit == "text" else int(said) * _UNITS[unit]
    return at


def _identifier(number: Printed) -> str:
    """``figure-1-in-cache-ext4-optimized``."""
    words = " ".join((number.source.stem, *number.row, number.column)).lower()
    return _NO_WORD.sub("-", words).strip("-")
