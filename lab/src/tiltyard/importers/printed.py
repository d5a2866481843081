"""Numbers in what a program printed, found where a study says that they stand."""

import csv
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from tiltyard.errors import UsageError
from tiltyard.importers.quantities import KNOWN_UNITS, unit_named
from tiltyard.importers.reading import number, printable, shown
from tiltyard.study.program import MetricTable

_NUMBER: Final = r"[-+]?(?:\d[\d,]*(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?"
_DELIMITERS: Final = ",;\t|"
_LINES_QUOTED: Final = 3


@dataclass(frozen=True)
class Printed:
    """What one execution printed on one stream, or wrote to one file."""

    name: str
    """Where, in words: ``stdout of execution 2``."""
    text: str
    truncated: bool = False
    """Whether less was kept than was printed."""
    exit: int | None = None

    def refused(self, why: str) -> UsageError:
        """The error that quotes the last lines that are there."""
        last = [line.strip() for line in self.text.splitlines() if line.strip()][-_LINES_QUOTED:]
        there = " | ".join(printable(line[:120]) for line in last) or "(nothing)"
        return UsageError(f"{self.name}: {why}; its last lines: {there}")

    def require_whole(self) -> None:
        """Refuse an output of which only the beginning was kept: what counts may have come later.

        Raises:
            UsageError: if there was more.
        """
        if self.truncated:
            raise self.refused('only its beginning was kept. Fix: keep = "64M", or print less')


def require_readable(name: str, table: MetricTable) -> None:
    """Refuse a metric whose expression or unit cannot be understood.

    Raises:
        UsageError: one line that names metric and key.
    """
    if unit_named(table.unit) is None:
        raise UsageError(
            f"metrics.{name}.unit: {shown(table.unit)} is not a known unit. Fix: one of "
            f"{KNOWN_UNITS}"
        )
    if table.regex is not None:
        try:
            re.compile(table.regex)
        except re.error as error:
            raise UsageError(f"metrics.{name}.regex: {table.regex!r}: {error}") from error
    if table.json_path is not None:
        _path_of(name, table.json_path)


def value_of(name: str, table: MetricTable, printed: Printed) -> float:
    """The number of one execution, in base units.

    Args:
        name: of the metric, for the error.
        table: where the number stands.
        printed: what was printed there.

    Raises:
        UsageError: if it is not there; it quotes what was looked for and the last lines.
    """
    unit = unit_named(table.unit)
    if unit is None:
        raise UsageError(f"metrics.{name}.unit: {shown(table.unit)} is not a known unit")
    if table.take != "first" and not table.exit:
        printed.require_whole()
    looked_for, found = _found(name, table, printed)
    values = []
    for text in found:
        try:
            found_value = number(text.lstrip("+"), signed=True)
            values.append(unit.value(found_value) * table.scale)
        except ValueError as error:
            raise printed.refused(
                f"metrics.{name}: {looked_for} is {shown(text)}: {error}"
            ) from error
    if not values:
        raise printed.refused(f"metrics.{name}: {looked_for} is not there")
    if table.take in ("first", "last"):
        return values[0 if table.take == "first" else -1]
    total = {"min": min, "max": max}.get(table.take, sum)(values)
    return total / len(values) if table.take == "mean" else total


def _found(name: str, table: MetricTable, printed: Printed) -> tuple[str, list[str]]:
    """What is looked for, in words; and every number, as it is printed."""
    if table.exit:
        return "the exit code", [] if printed.exit is None else [str(printed.exit)]
    if table.regex is not None:
        matches = re.finditer(table.regex, printed.text, re.MULTILINE)
        return f"regex {table.regex!r}", [
            match[1] if match.re.groups else match[0]
            for match in matches
            if not match.re.groups or match[1] is not None
        ]
    if table.json_path is not None:
        return f"JSONPath {table.json_path!r}", list(_of_json(name, table.json_path, printed))
    if table.csv is not None:
        return f"the CSV column {table.csv!r}", _column(table.csv, printed)
    if table.key is not None:
        return f"a number after {table.key!r}", _after(table.key, printed.text)
    lines = [line.strip() for line in printed.text.splitlines() if line.strip()]
    return "the last line", lines[-1:]


def _after(key: str, text: str) -> list[str]:
    """``KEY: 12.3``, ``KEY = 12.3``, ``KEY 12.3``, ``"KEY": 12.3``."""
    before = r"(?<!\w)" if re.match(r"\w", key) else ""
    after = r"(?!\w)" if re.search(r"\w$", key) else ""
    pattern = rf"{before}{re.escape(key)}{after}[\"']?[ \t]*[:=]?[ \t]*[\"']?({_NUMBER})"
    return [match[1].rstrip(",") for match in re.finditer(pattern, text)]


def _column(name: str, printed: Printed) -> list[str]:
    """The fields under a heading, down to the first line of another width."""
    lines = printed.text.splitlines()
    for place, line in enumerate(lines):
        for delimiter in _DELIMITERS:
            head = [one.strip() for one in next(csv.reader([line], delimiter=delimiter), [])]
            if name not in head:
                continue
            if head.count(name) > 1:
                raise printed.refused(f"the CSV column {name!r} is there twice")
            rows = csv.reader(lines[place + 1 :], delimiter=delimiter)
            found = []
            for row in rows:
                if len(row) != len(head):
                    break
                found.append(row[head.index(name)].strip())
            return found
    return []


def _of_json(name: str, expression: str, printed: Printed) -> Iterator[str]:
    """Every number that a JSONPath selects, in all JSON texts of the output."""
    path = _path_of(name, expression)
    for document in _documents(printed):
        for node in path.findall(document):
            if isinstance(node, bool) or not isinstance(node, (int, float, str)):
                raise printed.refused(
                    f"metrics.{name}: JSONPath {expression!r} selects {type(node).__name__}, "
                    "no number"
                )
            yield node if isinstance(node, str) else repr(node)


def _documents(printed: Printed) -> Iterator[Any]:
    """The JSON texts in an output; lines before and between them may be for people."""
    decoder, text = json.JSONDecoder(), printed.text
    starts = re.compile(r"^(?=[\[{])", re.MULTILINE)  # what is indented is a part of another text
    place, flaw = 0, "there is no JSON"
    found = False
    while match := starts.search(text, place):
        try:
            document, place = decoder.raw_decode(text, match.end())
        except (json.JSONDecodeError, RecursionError) as error:
            flaw, place = f"no JSON: {error}", match.end() + 1
            continue
        found = True
        yield document
    if not found:
        raise printed.refused(flaw)


def _path_of(name: str, expression: str) -> Any:
    """A JSONPath (RFC 9535).

    The library takes as long to load as all importers, and few studies need it.
    """
    import jsonpath

    try:
        return jsonpath.compile(expression)
    except jsonpath.JSONPathError as error:
        why = str(error).partition("\n")[0]
        raise UsageError(f"metrics.{name}.json: {expression!r}: {why}") from error
