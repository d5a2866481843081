"""Numbers in what a program printed, found where a study says that they stand."""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from statistics import StatisticsError, fmean, geometric_mean, harmonic_mean
from typing import Any, Final

from tiltyard.delimited import NoCsvError, fields_of, rows_of
from tiltyard.errors import UsageError
from tiltyard.importers.patterns import TooSlowError, captured, require_expression
from tiltyard.importers.quantities import KNOWN_UNITS, unit_named
from tiltyard.importers.reading import LONGEST_NUMBER, number, printable, shown, within
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
            raise self.refused(
                'only its beginning was kept. Fix: keep = "4M", the most, or print less'
            )


class TooSlowMetricError(UsageError):
    """A metric whose expression has used up its time.

    Attributes:
        key: of the metric, as in ``metrics.tps.regex``.
        text: what is wrong, without the key.
    """

    def __init__(self, key: str, where: str, error: TooSlowError) -> None:
        self.key, self.text = key, f"{where}: {error}"
        super().__init__(f"{where}: {key}: {error}")


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
    for key, expression in (("regex", table.regex), ("json", table.json_path)):
        try:
            if expression is not None:
                _require(key, expression)
        except ValueError as error:
            raise UsageError(f"metrics.{name}.{key}: {expression!r}: {error}") from error


def _require(key: str, expression: str) -> None:
    if key == "regex":
        return require_expression(expression)
    from tiltyard.importers.json_path import require_path

    return require_path(expression)


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
    try:
        looked_for, numbers = _found(name, table, _part(name, table, printed))
    except TooSlowError as error:
        key = "regex" if table.regex is not None else "json"
        raise TooSlowMetricError(f"metrics.{name}.{key}", printed.name, error) from error
    values = []
    for text in numbers:
        try:
            exact = number(_plain(text.lstrip("+"), table.decimal), signed=True)
            exact = (1 / exact if table.inverse else exact) * Fraction(table.scale)
            values.append(unit.value(within(exact)))
        except (ValueError, ZeroDivisionError) as error:
            # Whoever said which it is needs no advice.
            advice = '; say decimal = "," or "."' if "," in text and not table.decimal else ""
            raise printed.refused(
                f"metrics.{name}: {looked_for} is {shown(text)}: {error}{advice}"
            ) from error
    if not values:
        raise printed.refused(f"metrics.{name}: {looked_for} is not there")
    if table.take in ("first", "last"):
        return values[0 if table.take == "first" else -1]
    try:
        return _WAYS[table.take](values)
    except StatisticsError as error:
        raise printed.refused(f"metrics.{name}: no {table.take} of {values}: {error}") from error


def _plain(text: str, decimal: str | None) -> str:
    """A number with a point before its decimals, and without thousands apart."""
    if decimal is None:
        return text
    return text.replace("." if decimal == "," else ",", "").replace(decimal, ".")


_WAYS: Final[Mapping[str, Callable[[Sequence[float]], float]]] = {
    "mean": fmean,
    "geometric_mean": geometric_mean,
    "harmonic_mean": harmonic_mean,
    "sum": sum,
    "min": min,
    "max": max,
}


def _part(name: str, table: MetricTable, printed: Printed) -> Printed:
    """What is looked at."""
    text = printed.text
    for key, mark in (("after", table.after), ("before", table.before)):
        if mark is None:
            continue
        place = text.find(mark)
        if place < 0:
            raise printed.refused(f"metrics.{name}.{key}: {mark!r} is not there")
        text = text[place:] if key == "after" else text[:place]
    return replace(printed, text=text)


def _found(name: str, table: MetricTable, printed: Printed) -> tuple[str, list[str]]:
    """What is looked for, in words; and every number, as it is printed."""
    if table.exit:
        return "the exit code", [] if printed.exit is None else [str(printed.exit)]
    if table.regex is not None:
        return f"regex {table.regex!r}", captured(table.regex, printed.text)
    if table.json_path is not None:
        return f"JSONPath {table.json_path!r}", list(_of_json(name, table.json_path, printed))
    if table.csv is not None:
        return f"the CSV column {table.csv!r}", _column(table.csv, printed)
    if table.key is not None:
        return f"a number after {table.key!r}", _after(table.key, printed.text, table.decimal)
    lines = [line.strip() for line in printed.text.splitlines() if line.strip()]
    return "the last line", lines[-1:]


def _after(key: str, text: str, decimal: str | None) -> list[str]:
    """``KEY: 12.3``, ``KEY = 12.3``, ``KEY 12.3``, ``"KEY": 12.3``."""
    figure = _NUMBER.translate(str.maketrans(",.", ".,")) if decimal == "," else _NUMBER
    before = r"(?<!\w)" if re.match(r"\w", key) else ""
    after = r"(?!\w)" if re.search(r"\w$", key) else ""
    pattern = rf"{before}{re.escape(key)}{after}[\"']?[ \t]*[:=]?[ \t]*[\"']?({figure})"
    return [match[1].rstrip("." if decimal == "," else ",") for match in re.finditer(pattern, text)]


def _column(name: str, printed: Printed) -> list[str]:
    """The fields under a heading, down to the first line of another width."""
    lines = printed.text.splitlines()
    for place, line in enumerate(lines):
        for delimiter in _DELIMITERS:
            try:
                head = [one.strip() for one in fields_of(line, delimiter)]
            except NoCsvError:  # no heading is so long
                continue
            if name not in head:
                continue
            if head.count(name) > 1:
                raise printed.refused(f"the CSV column {name!r} is there twice")
            found = []
            try:
                for _, row in rows_of(lines[place + 1 :], delimiter):
                    if len(row) != len(head):
                        break
                    found.append(row[head.index(name)].strip())
            except NoCsvError as error:
                at = place + error.line + 2
                raise printed.refused(f"the CSV column {name!r}: line {at}: {error}") from error
            return found
    return []


def _of_json(name: str, expression: str, printed: Printed) -> Iterator[str]:
    """Every number that a JSONPath selects, in all JSON texts of the output."""
    from tiltyard.importers.json_path import selected

    documents = list(_documents(printed))  # their reading is no time of the expression
    try:
        nodes = selected(expression, documents)
    except ValueError as error:
        raise printed.refused(f"metrics.{name}: JSONPath {error}") from error
    for node in nodes:
        if isinstance(node, bool) or not isinstance(node, (int, float, str)):
            raise printed.refused(
                f"metrics.{name}: JSONPath {expression!r} selects {type(node).__name__}, no number"
            )
        yield node if isinstance(node, str) else repr(node)


def _whole(text: str) -> int | str:
    """A whole number; one of more digits than any number has stays the text that it is."""
    return int(text) if len(text) <= LONGEST_NUMBER else text


def _documents(printed: Printed) -> Iterator[Any]:
    """The JSON texts in an output; lines before and between them may be for people."""
    decoder, text = json.JSONDecoder(parse_int=_whole), printed.text
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
