"""dbench's last lines: its throughput, and the latencies of its operations.

Its MB is 10⁶ bytes. What it prints as throughput is what it had reached at its last line of
progress, up to a second before the end.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from tiltyard.importers.importer import Imported, Importer, Measured, single
from tiltyard.importers.quantities import BYTES_S, MILLISECONDS, metric, unit_named
from tiltyard.importers.reading import Line, lines_of

_MB_S: Final = unit_named("MB/s") or BYTES_S
METRICS: Final = (
    metric("throughput", _MB_S, 3),
    metric("latency_max", MILLISECONDS, 3, label="longest latency", headline=False),
    metric("latency", MILLISECONDS, 3, label="mean latency", headline=False),
    metric("operation_max", MILLISECONDS, 3, label="longest latency of each", headline=False),
)
_RESULT: Final = re.compile(
    r"Throughput (?P<rate>\S+) MB/sec(?P<sync>(?: \(sync \w+\))*)(?:\s+(?P<clients>\d+) clients)?"
    r"\s+(?P<procs>\d+) procs(?:\s+max_latency=(?P<longest>\S+) ms)?\s*"
)
_OPERATION: Final = re.compile(r" (\S+)\s+\d+\s+(\d+\.\d{3})\s+(\d+\.\d{3})")
_VERSION: Final = re.compile(r"dbench version (\S+)")


def read(data: bytes, name: str) -> Imported:
    """The output of one ``dbench``."""
    lines = lines_of(data, name)
    results = [(line, match) for line in lines if (match := _RESULT.fullmatch(line.text))]
    if len(results) > 1:
        raise results[1][0].refused("a second result; give each in its own file")
    version = next((match[0] for one in lines if (match := _VERSION.match(one.text))), "")
    parameters = {}
    if results:
        match = results[0][1]
        parameters = {"clients": match["clients"] or match["procs"], "processes": match["procs"]}
        parameters |= {"sync": match["sync"].strip()} if match["sync"] else {}
    return single(
        use="dbench",
        lineage=version.replace(" version", ""),
        metrics=METRICS,
        measured=tuple(_measured(lines) if results else ()),
        parameters=parameters,
        grid=("operation",),
        limits=(
            "dbench's throughput is that of its last line of progress, up to a second before the "
            "end of its run.",
        ),
    )


def _measured(lines: Sequence[Line]) -> Iterator[Measured]:
    for line in lines:
        if match := _OPERATION.fullmatch(line.text):
            at: dict[str, int | str] = {"operation": match[1]}
            yield Measured("latency", at, (MILLISECONDS.value(line.value(match[2])),))
            yield Measured("operation_max", at, (MILLISECONDS.value(line.value(match[3])),))
        elif match := _RESULT.fullmatch(line.text):
            yield Measured("throughput", values=(_MB_S.value(line.value(match["rate"])),))
            if match["longest"]:
                longest = MILLISECONDS.value(line.value(match["longest"]))
                yield Measured("latency_max", values=(longest,))


IMPORTER: Final = Importer(
    name="dbench",
    about="what dbench 3 and 4 print, with the latencies of each operation",
    left_out="progress, counts of operations",
    cut_off="refused without its throughput, which stands at the end",
    disowns=r"^Child failed with status",
    recognises=lambda head: (
        bool(re.search(r"^dbench version \d", head, re.MULTILINE))
        or bool(re.search(r"^Throughput \S+ MB/sec.* procs", head, re.MULTILINE))
    ),
    read=read,
    metrics=METRICS,
    grid=("operation",),
)
