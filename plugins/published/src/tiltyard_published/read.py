"""A folder of ``published/`` → what it holds."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Final, TypeVar

from pydantic import ValidationError

from tiltyard.collected.model import (
    CollectedWorkload,
    Collection,
    PrintedAs,
    Reading,
    SourceFile,
    SourceMean,
)
from tiltyard.errors import UsageError
from tiltyard.folder import sha256
from tiltyard.frozen import Frozen
from tiltyard.study.load import parsed, read_text
from tiltyard.study.locate import KeyPath, locate
from tiltyard.study.problems import Flaw, located, not_a, shown
from tiltyard.study.wording import flaws_of
from tiltyard_published.derived import Derived
from tiltyard_published.file import (
    PrintedMetric,
    PrintedTable,
    PrintedWorkload,
    PublishedFile,
)
from tiltyard_published.tables import Printed, read_table

NAME: Final = "published.toml"
RUNBOOK: Final = "runbook.sh"


class Publication(Frozen):
    """A printed study: its numbers, and what it calculated from them."""

    collection: Collection
    style: str
    """The house style in which it is reported by default."""
    derived: tuple[Derived, ...]


def is_published(folder: Path) -> bool:
    """Whether a folder holds a printed study."""
    return (folder / NAME).is_file()


def read_publication(folder: Path) -> Publication:
    """The printed study of a folder.

    Raises:
        UsageError: if a file cannot be read or says what it cannot mean; the message names file
            and line, and the key or the column.
    """
    path = folder / NAME
    file = _file(path)
    shelves = Shelves(file)
    sources = [path]
    for table in file.table:
        sources.append(folder / table.file)
        shelves.put(table, read_table(sources[-1], table))
    _check_identifiers(shelves.derived, folder)
    known = file.model_dump(exclude={"style", "origin", "system", "workload", "table"})
    collection = Collection(
        **known,
        origin=file.origin.model_copy(
            update={"files": tuple(map(_source, sources)), "runbook": _runbook(folder / RUNBOOK)}
        ),
        systems=file.system,
        workloads=shelves.workloads(),
    )
    return Publication(collection=collection, style=file.style, derived=tuple(shelves.derived))


def _runbook(path: Path) -> tuple[str, ...]:
    """The lines of the script beside a printed study, if there is one."""
    return tuple(read_text(path).splitlines()) if path.is_file() else ()


def _file(path: Path) -> PublishedFile:
    """What stands in ``published.toml``; errors name line and key."""
    text = read_text(path)
    document = parsed(text, path)
    try:
        file = PublishedFile.model_validate(document)
    except ValidationError as error:
        raise located(path, locate(text), flaws_of(error, PublishedFile)) from error
    if flaws := [*_twice(file), *_of_systems(file), *_of_tables(file)]:
        raise located(path, locate(text), flaws)
    return file


def _twice(file: PublishedFile) -> Iterator[Flaw]:
    """Names that do not tell one thing from another."""
    yield from _repeated(("system",), [one.name for one in file.system])
    yield from _repeated(("workload",), [one.name for one in file.workload])
    for place, workload in enumerate(file.workload):
        names = [metric.name for metric in workload.metric]
        yield from _repeated(("workload", place, "metric"), names)


def _repeated(path: KeyPath, names: Sequence[str]) -> Iterator[Flaw]:
    for place, name in enumerate(names):
        if name in names[:place]:
            yield Flaw((*path, place, "name"), f"another {path[-1]} has the name {shown(name)}")


def _of_systems(file: PublishedFile) -> Iterator[Flaw]:
    """Systems that are named and not there, or of which others differ in more than their levels."""
    systems = [one.name for one in file.system]
    if file.baseline not in systems:
        yield Flaw(("baseline",), not_a(file.baseline, "system", systems))
    varied = [*file.system[0].levels] if file.system else []
    if file.asks is not None and file.asks not in varied:
        yield Flaw(("asks",), not_a(file.asks, "factor of the systems", varied))
    for place, system in enumerate(file.system):
        if system.levels.keys() != file.system[0].levels.keys():
            factors = ", ".join(file.system[0].levels)
            text = f"every system has a level of each factor; the first one has: {factors}"
            yield Flaw(("system", place, "levels"), text)


def _of_tables(file: PublishedFile) -> Iterator[Flaw]:
    """Tables that stand elsewhere, and advantages between systems that cannot be."""
    systems = [one.name for one in file.system]
    for place, table in enumerate(file.table):
        if Path(table.file).name != table.file or "\0" in table.file:
            yield Flaw(("table", place, "file"), f"a table is a file beside {NAME}")
        for column, advantage in table.advantages.items():
            path = ("table", place, "advantages", column)
            for name in (advantage.system, advantage.against):
                if name not in systems:
                    yield Flaw(path, not_a(name, "system", systems))
            if advantage.system == advantage.against:
                yield Flaw(path, f"{shown(advantage.system)} is compared with itself")


def _check_identifiers(derived: list[Derived], folder: Path) -> None:
    """Claims are held against derived numbers by name."""
    seen: set[str] = set()
    for one in derived:
        if one.id in seen:
            raise UsageError(f'{folder}: two derived numbers have the name "{one.id}"')
        seen.add(one.id)


def _source(path: Path) -> SourceFile:
    return SourceFile(name=path.name, sha256=sha256(path.read_bytes()), importer="published")


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
