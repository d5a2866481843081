"""Throughput of several children: one paragraph a test."""

import re
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Final

from tiltyard.collected.model import CollectedMetric
from tiltyard.importers.importer import Measured
from tiltyard.importers.iozone.session import Session
from tiltyard.importers.quantities import PERCENT, Unit, metric
from tiltyard.importers.reading import Line

_LABELS: Final = {
    "initial writers": "write",
    "rewriters": "rewrite",
    "readers": "read",
    "re-readers": "reread",
    "reverse readers": "backward_read",
    "stride readers": "stride_read",
    "random readers": "random_read",
    "mixed workload": "mixed",
    "random writers": "random_write",
    "pwrite writers": "pwrite",
    "pread readers": "pread",
    "fwriters": "fwrite",
    "freaders": "fread",
}
_FILES: Final = re.compile(
    r"\s*Each (?:process|thread) writes a (\d+) [kK]B?(?:yte)? file in (\d+) [kK]B?(?:yte)? records"
)
_FIGURE: Final = re.compile(
    r"\s*(Children see|Parent sees) throughput for +(\d+) (.+?)\s*=\s*(\S+) (\S+)\s*"
)
_LEAST: Final = re.compile(r"\s*Min (xfer|throughput per \w+)\s*=\s*(\S+) \S+\s*")
_CPU: Final = re.compile(r"\s*CPU [uU]tilization: .* CPU utilization\s+(\S+) %\s*")
_ROUNDED: Final = Fraction(1, 100)
"""Figures have two decimals."""
_UNITS: Final = ("kB/sec", "KB/sec", "ops/sec", "kBytes/sec")


def child_metrics(unit: Unit) -> Iterator[CollectedMetric]:
    """What is printed of several children only: the parent's view, and the mixed workload."""
    yield metric("mixed", unit, 2)
    for name in _LABELS.values():
        label = f"{name.replace('_', ' ')}, seen by the parent"
        yield metric(f"{name}_parent", unit, 2, label=label, headline=False)


def children(session: Session) -> tuple[list[Measured], list[str]]:
    """What all children together did, and what to say about it.

    Raises:
        UsageError: if a line is damaged.
    """
    found, file = list(_figures(session.lines, session.unit)), session.lines[0].file
    waiting, missing = _incomplete(session.lines)
    warnings = []
    if waiting:
        warnings.append(
            f"{file}: in {waiting} of the tests a child had moved nothing when the first one was "
            "done: the sum of children is then a sum over different times."
        )
    if missing:
        warnings.append(
            f"{file}: in {missing} of the tests the sum of children is less than the least of them "
            "times their number: children are missing in it."
        )
    return found, warnings


def _incomplete(lines: Sequence[Line]) -> tuple[int, int]:
    """In how many tests a child had moved nothing; and in how many the sum cannot have all."""
    waiting = missing = 0
    children, total = 0, Fraction(0)
    for line in lines:
        if (seen := _FIGURE.fullmatch(line.text)) and seen[1] == "Children see":
            children, total = line.count(seen[2]), line.value(seen[4])
        elif least := _LEAST.fullmatch(line.text):
            value = line.value(least[2])
            if least[1] == "xfer":
                waiting += not value
            else:
                missing += children * (value - _ROUNDED) > total
    return waiting, missing


def _figures(lines: Sequence[Line], unit: Unit) -> Iterator[Measured]:
    sizes: dict[str, int | str] = {}
    at, cpu = sizes, ""
    for line in lines:
        if match := _FILES.match(line.text):
            sizes = {
                "file": line.count(match[1]) * 1024,
                "record": line.count(match[2]) * 1024,
            }
        elif match := _FIGURE.fullmatch(line.text):
            viewer, count, label, value, printed_unit = match.groups()
            name = _LABELS.get(label)
            if name is None or printed_unit not in _UNITS:
                raise line.refused("not a line of IOzone's throughput: unknown test or unit")
            at, cpu = {"children": line.count(count), **sizes}, f"{name}_cpu"
            if not line.value(value):
                continue
            yield Measured(
                name if viewer == "Children see" else f"{name}_parent",
                at,
                (unit.value(line.value(value)),),
            )
        elif (match := _CPU.fullmatch(line.text)) and cpu:
            yield Measured(cpu, at, (PERCENT.value(line.value(match[1])),))
