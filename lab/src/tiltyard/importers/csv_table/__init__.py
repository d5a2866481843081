"""CSV of any make, by a mapping that says what each column is.

Nothing is guessed: neither what parts the columns, nor what a comma in a number means.
"""

from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Final

from tiltyard.collected.model import CollectedMetric
from tiltyard.delimited import NoCsvError, rows_of, undefused
from tiltyard.errors import UsageError
from tiltyard.importers.csv_table.mapping import Column, Mapping, Quantity, read_mapping, unit_of
from tiltyard.importers.importer import Imported, ImportedWorkload, Importer, Measured
from tiltyard.importers.reading import Line, lines_of, number

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
