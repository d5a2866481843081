"""CSV of any make, by a mapping that says what each column is.

Nothing is guessed: neither what parts the columns, nor what a comma in a number means.
"""

import re
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Final, Literal

from pydantic import Field, ValidationError, model_validator

from tiltyard.collected.model import CollectedMetric
from tiltyard.delimited import NoCsvError, rows_of, undefused
from tiltyard.errors import UsageError
from tiltyard.frozen import Frozen
from tiltyard.importers.gather import contents
from tiltyard.importers.importer import Imported, ImportedWorkload, Importer, Measured
from tiltyard.importers.quantities import Unit, unit_named
from tiltyard.importers.reading import Line, lines_of, number
from tiltyard.study.load import parsed
from tiltyard.study.locate import locate
from tiltyard.study.problems import located
from tiltyard.study.wording import flaws_of
from tiltyard.units import SIZE_UNITS


class Column(Frozen):
    """A column, by its name in the head."""

    column: Annotated[str, Field(min_length=1)]
    unit: str | None = None
    """Of sizes: ``KiB``."""

    @property
    def factor(self) -> int:
        """Bytes of one."""
        return SIZE_UNITS[self.unit] if self.unit else 1

    @model_validator(mode="after")
    def _known(self) -> "Column":
        if self.unit is not None and self.unit not in SIZE_UNITS:
            raise ValueError(f'"{self.unit}" is not one of {", ".join(SIZE_UNITS)}')
        return self

    def __str__(self) -> str:
        return f'"{self.column}"'


class Quantity(Frozen):
    """A metric."""

    unit: Annotated[str, Field(min_length=1, description='Fix: unit = "MB/s"')]
    direction: Annotated[
        Literal["higher", "lower"],
        Field(description='What is better. Fix: direction = "higher" or "lower"'),
    ]
    column: str | None = None
    """Where its values stand, in a wide file."""
    label: str = ""
    decimals: Annotated[int, Field(ge=0, le=12)] | None = None
    compared: bool = True


class Mapping(Frozen):
    """What a CSV file is made of."""

    delimiter: Annotated[str, Field(pattern=r'^[^"\r\n]$', description='Fix: delimiter = ","')]
    decimal: Annotated[Literal[".", ","], Field(description='Fix: decimal = "."')]
    thousands: Literal["", ",", ".", " ", "'"] = ""
    workload: Annotated[
        Annotated[str, Field(min_length=1)] | Column,
        Field(description='Fix: workload = "NAME", or workload = { column = "NAME" }'),
    ]
    system: Column | None = None
    """Absent where the command line says it: NAME=FILE."""
    block: Column | None = None
    at: dict[str, Column] = Field(default_factory=dict)
    metric: Column | None = None
    """With ``value``: a long file, one value in a row."""
    value: Column | None = None
    metrics: Annotated[
        dict[str, Quantity],
        Field(min_length=1, description="Fix: [metrics.NAME] with column, unit and direction"),
    ]

    @model_validator(mode="after")
    def _one_form(self) -> "Mapping":
        named = [name for name, one in self.metrics.items() if one.column]
        if (self.metric is None) != (self.value is None):
            raise ValueError("metric and value go together: a long file has both columns")
        if self.metric is None and len(named) < len(self.metrics):
            raise ValueError("each metric needs its column, or the file metric and value")
        if self.metric is not None and named:
            raise ValueError(f"{named[0]}: a column of its own in a file with a column of values")
        if self.thousands == self.decimal:
            raise ValueError("thousands and decimal are the same")
        return self

    def columns(self) -> Iterator[str]:
        """The names of all columns that are read."""
        sources = (self.workload, self.system, self.block, self.metric, self.value)
        for one in (*sources, *self.at.values()):
            if isinstance(one, Column):
                yield one.column
        yield from (metric.column for metric in self.metrics.values() if metric.column)

    def plain(self, text: str) -> str:
        """A number as programs write it.

        Raises:
            ValueError: if it is written otherwise than the mapping says.
        """
        found = text
        if self.thousands and self.thousands in found:
            group = re.escape(self.thousands)
            if not re.fullmatch(
                rf"\d{{1,3}}(?:{group}\d{{3}})+(?:{re.escape(self.decimal)}\d+)?", text
            ):
                raise ValueError(f'"{self.thousands}" does not part thousands in it')
            found = found.replace(self.thousands, "")
        other = "," if self.decimal == "." else "."
        if other in found:
            raise ValueError(f'it has a "{other}", and the mapping says decimal = "{self.decimal}"')
        return found.replace(",", ".")


def unit_of(name: str) -> Unit:
    """A unit by name; one that is not known is its own base unit."""
    return unit_named(name) or Unit(name, name, Fraction(1))


def read_mapping(path: Path) -> Mapping:
    """A mapping from its file.

    Raises:
        UsageError: it names the file, and each line and key that is not right.
    """
    try:
        text = contents(path).decode()
    except UnicodeDecodeError as error:
        raise UsageError(f"{path}: not UTF-8: {error.reason}") from error
    document = parsed(text, path)
    try:
        return Mapping.model_validate(document)
    except ValidationError as error:
        found = located(path, locate(text), flaws_of(error, Mapping))
        wrong = (": ".join(filter(None, (str(e.line), e.key, e.text))) for e in found.problems)
        raise UsageError(f"{path}:{'; '.join(wrong)}") from error


ABOUT: Final = "CSV of any make, wide or long, with `--mapping FILE`"


def importer(mapping_file: Path) -> Importer:
    """The importer of files that a mapping describes.

    Raises:
        UsageError: if the mapping says something that it cannot.
    """
    mapping = read_mapping(mapping_file)
    return Importer(
        name="csv",
        about=ABOUT,
        left_out=IMPORTER.left_out,
        cut_off=IMPORTER.cut_off,
        repeats="rows",
        recognises=lambda _head: True,
        read=lambda data, name: _read(data, name, mapping),
    )


def _read(data: bytes, name: str, mapping: Mapping) -> Imported:
    lines = lines_of(data, name)
    rows = _rows(lines, mapping)
    head = next(rows, None)
    if head is None:
        raise UsageError(f"{name}: empty; give the file that the tool wrote")
    places = _places(head[0], head[1], mapping)
    found: dict[str, list[Measured]] = {}
    seen: set[object] = set()
    for line, fields in rows:
        if not any(field.strip() for field in fields):
            continue
        if len(fields) != len(head[1]):
            raise line.refused(f"{len(fields)} fields under a head of {len(head[1])}")
        row = _Row(line, fields, places, mapping)
        workload = row.text(mapping.workload)
        for measured in row.measured():
            if measured.blocks:
                _refuse_again(row, workload, measured, seen)
            found.setdefault(workload, []).append(measured)
    return Imported(
        tuple(
            ImportedWorkload(
                name=workload,
                use=workload,
                metrics=tuple(_metric(key, one) for key, one in mapping.metrics.items()),
                measured=tuple(measured),
                grid=tuple(mapping.at),
            )
            for workload, measured in found.items()
        ),
        limits=tuple(_left_out(name, head[1], mapping)),
        rows=True,
    )


def _left_out(name: str, head: list[str], mapping: Mapping) -> Iterator[str]:
    """A sentence on the columns that the mapping does not name."""
    others = [own for column in head if (own := column.strip()) not in {*mapping.columns()}]
    if others:
        yield f"{name}: left out, as the mapping does not name them: {', '.join(others)[:200]}."


def _rows(lines: list[Line], mapping: Mapping) -> Iterator[tuple[Line, list[str]]]:
    """Rows with the line in which each begins."""
    texts = (f"{line.text}\n" for line in lines)
    try:
        for place, fields in rows_of(texts, mapping.delimiter, strict=True):
            yield lines[place], [undefused(field) for field in fields]
    except NoCsvError as error:
        place = min(error.line, len(lines) - 1)
        raise lines[place].refused(f"not CSV: {error}") from error


def _places(line: Line, head: list[str], mapping: Mapping) -> dict[str, int]:
    """Column → place.

    Raises:
        UsageError: if a column that the mapping names is not there, or twice.
    """
    names = [name.strip() for name in head]
    wrong = [
        f'"{column}" {"is the name of two columns" if column in names else "is not a column"}'
        for column in dict.fromkeys(mapping.columns())
        if names.count(column) != 1
    ]
    if wrong:
        raise line.refused(f"{'; '.join(wrong)}; there are: {', '.join(names)[:200]}")
    return {name: place for place, name in enumerate(names)}


class _Row:
    """One row, read by the mapping."""

    def __init__(
        self, line: Line, fields: list[str], places: dict[str, int], mapping: Mapping
    ) -> None:
        self.line, self._mapping = line, mapping
        self._fields = {name: fields[place].strip() for name, place in places.items()}

    def text(self, source: "str | Column") -> str:
        """A text of the mapping itself, or what stands in the column."""
        found = self._fields[source.column] if isinstance(source, Column) else source
        if not found:
            raise self.line.refused(f"nothing stands in the column of {source}")
        return found

    def measured(self) -> Iterator[Measured]:
        """The values of the row; an empty field is missing."""
        for key, field, quantity in self._values():
            if field:
                value = unit_of(quantity.unit).value(self._number(field))
                yield Measured(
                    key,
                    {name: self._level(source) for name, source in self._mapping.at.items()},
                    (value,),
                    blocks=self._block(),
                    system=self.text(self._mapping.system) if self._mapping.system else None,
                )

    def _values(self) -> Iterator[tuple[str, str, Quantity]]:
        mapping = self._mapping
        if mapping.metric is None or mapping.value is None:
            for key, one in mapping.metrics.items():
                yield key, self._fields[one.column or ""], one
            return
        key = self.text(mapping.metric)
        if key not in mapping.metrics:
            raise self.line.refused(
                f'"{key[:40]}" is not a metric of the mapping; it has {", ".join(mapping.metrics)}'
            )
        yield key, self._fields[mapping.value.column], mapping.metrics[key]

    def _level(self, source: Column) -> int | str:
        """A number if it is whole, times the unit of the mapping; else a text."""
        text = self.text(source)
        if source.factor == 1 and not text.isdecimal():
            return text
        found = self._number(text) * source.factor
        if found.denominator != 1:
            raise self.line.refused(f'"{text}" in column {source.column} is not a whole size')
        return found.numerator

    def _block(self) -> tuple[int, ...]:
        if self._mapping.block is None:
            return ()
        found = self._number(self.text(self._mapping.block))
        if found.denominator != 1 or found < 0:
            raise self.line.refused("a block is a whole number from 0 on")
        return (found.numerator,)

    def _number(self, text: str) -> Fraction:
        try:
            return number(self._mapping.plain(text))
        except ValueError as error:
            raise self.line.refused(f'"{text[:40]}" should be a number: {error}') from None


def _refuse_again(row: _Row, workload: str, measured: Measured, seen: set[object]) -> None:
    place = (
        workload, measured.metric, measured.system, measured.blocks, *measured.at.items()
    )  # fmt: skip
    if place in seen:
        raise row.line.refused(
            f"a second value of {measured.metric} in block {measured.blocks[0]}; a block has one"
        )
    seen.add(place)


def _metric(name: str, one: Quantity) -> CollectedMetric:
    unit = unit_of(one.unit)
    return CollectedMetric(
        name=name,
        label=one.label or name.replace("_", " "),
        unit=unit.base,
        direction=one.direction,
        headline=one.compared,
        printed=None if one.decimals is None else unit.printed(one.decimals),
    )


def _without_mapping(_data: bytes, name: str) -> Imported:
    raise UsageError(f"{name}: a CSV needs --mapping FILE, which says what each column is")


IMPORTER: Final = Importer(
    name="csv",
    about=ABOUT,
    left_out="columns that the mapping does not name; which these are is said",
    cut_off="rows that are whole are kept",
    repeats="rows",
    recognises=lambda _head: False,
    read=_without_mapping,
)
