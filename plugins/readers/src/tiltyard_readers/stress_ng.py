"""stress-ng's metrics: the table of ``--metrics`` and ``--metrics-brief``, or the ``--yaml`` file.

A bogo operation is a different thing in each stressor, so its rates compare systems, never
stressors. The rate by real time is compared; the one by CPU time leaves out all waiting.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from tiltyard.importers.importer import Imported, Importer, Measured, single
from tiltyard.importers.quantities import PER_S, SECONDS, metric
from tiltyard.importers.reading import Line, lines_of

METRICS: Final = (
    metric("operations", PER_S, 2, label="bogo operations"),
    metric("operations_cpu", PER_S, 2, label="bogo operations, of CPU time", headline=False),
    metric("user_time", SECONDS, 2, headline=False),
    metric("system_time", SECONDS, 2, headline=False),
)
_UNITS: Final = {one.name: PER_S if one.unit == "1/s" else SECONDS for one in METRICS}
_ROW: Final = re.compile(
    r"stress-ng: \w+:\s+\[\d+\] (?P<stressor>[\w-]+)\s+\d+\s+[\d.]+\s+(?P<user_time>[\d.]+)\s+"
    r"(?P<system_time>[\d.]+)\s+(?P<operations>[\d.]+)\s+(?P<operations_cpu>[\d.]+)"
    r"(?:\s+[\d.]+){0,2}\s*"
)
_STRESSOR: Final = re.compile(r"\s+- stressor: (\S+)")
_PAIR: Final = re.compile(r"\s+([\w-]+): (\S+)")
_KEYS: Final = {
    "bogo-ops-per-second-real-time": "operations",
    "bogo-ops-per-second-usr-sys-time": "operations_cpu",
    "user-time": "user_time",
    "system-time": "system_time",
}
_DISOWNED: Final = re.compile(r"\] (failed|metrics untrustworthy): [1-9]\d*: (.+)")
"""Of the lines at its end, those on stressors whose figures do not count."""
_VERSION: Final = re.compile(r"\s+stress-ng-version: (\S+)")


def read(data: bytes, name: str) -> Imported:
    """The metrics of one ``stress-ng``."""
    lines = lines_of(data, name)
    version = next((match[1] for one in lines if (match := _VERSION.fullmatch(one.text))), "")
    disowned = {
        stressor: match[1]
        for line in lines
        if (match := _DISOWNED.search(line.text))
        for stressor in re.findall(r"([\w-]+) \(\d+\)", match[2])
    }
    return single(
        use="stress-ng",
        lineage=f"stress-ng {version}".strip(),
        metrics=METRICS,
        measured=tuple(one for one in _measured(lines) if one.at["stressor"] not in disowned),
        grid=("stressor",),
        limits=(
            "A bogo operation is no unit of work that versions of stress-ng, or compilers that "
            "built it, have in common.",
            *(
                f"{stressor} left out: stress-ng says of it: {why}."
                for stressor, why in disowned.items()
            ),
        ),
    )


def _measured(lines: Sequence[Line]) -> Iterator[Measured]:
    """Of the table, and of the YAML, which has more digits."""
    stressor = ""
    for line in lines:
        if match := _ROW.fullmatch(line.text):
            for metric_name, text in list(match.groupdict().items())[1:]:
                yield _value(line, match["stressor"], metric_name, text)
        elif match := _STRESSOR.fullmatch(line.text):
            stressor = match[1]
        elif stressor and (match := _PAIR.fullmatch(line.text)) and match[1] in _KEYS:
            yield _value(line, stressor, _KEYS[match[1]], match[2])


def _value(line: Line, stressor: str, name: str, text: str) -> Measured:
    return Measured(name, {"stressor": stressor}, (_UNITS[name].value(line.value(text)),))


IMPORTER: Final = Importer(
    name="stress-ng",
    about="stress-ng with `--metrics`, `--metrics-brief` or `--yaml FILE`; it prints the table on "
    "standard error",
    left_out="counts of bogo operations, CPU and memory of an instance, a stressor's own figures",
    cut_off="stressors that are there are kept",
    recognises=lambda head: (
        ("stress-ng: " in head and "bogo ops" in head) or "stress-ng-version:" in head
    ),
    read=read,
    metrics=METRICS,
    grid=("stressor",),
)
