"""netperf's classic tables, and what its omni tests print in every form.

These are CSV (``-o``), key=value (``-k``), tables (``-O``) and JSON.

Its bits are decimal, its KB are 1024 B. A figure of -1 was not measured, and is missing.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from tiltyard.importers.importer import Imported, ImportedWorkload, Importer, Measured
from tiltyard.importers.netperf.classic import tables
from tiltyard.importers.netperf.figures import PERCENTILES, US_PER_KB, Outcome, metrics, printed_in
from tiltyard.importers.netperf.omni import (
    SELECTORS,
    csv_outcomes,
    json_outcomes,
    keyval_outcomes,
    table_outcomes,
)
from tiltyard.importers.quantities import MBIT_S, MICROSECONDS, PER_S, all_units
from tiltyard.importers.reading import Line, head_of, lines_of

_CONFIDENCE: Final = re.compile(r"!!! Confidence intervals: Throughput\s*: +([\d.]+)%")


def read(data: bytes, name: str) -> Imported:
    """Everything that netperf printed to one file, in one execution or several."""
    if head_of(data[:64]).lstrip("\ufeff \r\n\t")[:1] in ("{", "["):
        return Imported(_workloads(list(json_outcomes(data, name))))
    lines = lines_of(data, name)
    outcomes = [
        *tables(lines),
        *csv_outcomes(lines),
        *keyval_outcomes(lines),
        *table_outcomes(lines),
    ]
    return Imported(_workloads(outcomes), limits=tuple(_limits(lines, outcomes)))


def _workloads(outcomes: Sequence[Outcome]) -> tuple[ImportedWorkload, ...]:
    """One for each test, and for each host where a file has several."""
    hosts = {outcome.host for outcome in outcomes if outcome.host}
    return tuple(
        ImportedWorkload(
            name=" ".join(
                filter(
                    None,
                    (
                        f"netperf {outcome.test}".strip(),
                        f"to {outcome.host}" if outcome.host and len(hosts) > 1 else "",
                    ),
                )
            ),
            use=f"netperf {outcome.test}".strip(),
            metrics=metrics(outcome),
            measured=tuple(
                Measured(one, outcome.at, (value,), percentiles=outcome.percentiles.get(one, {}))
                for one, value in outcome.values.items()
            ),
            grid=tuple(outcome.at),
        )
        for outcome in outcomes
    )


def _limits(lines: Sequence[Line], outcomes: Sequence[Outcome]) -> Iterator[str]:
    if any(outcome.test.startswith("UDP_STREAM") for outcome in outcomes):
        yield "Of UDP_STREAM the rate is what arrived; what was sent stands beside it."
    if any("_RR" in one.test and one.headline == "throughput" for one in outcomes):
        yield "Throughput of requests and responses (-f) is that of both directions together."
    for line in lines:
        if "% conf." in line.text:
            yield (
                f"{line.file}: figures are means over several iterations (-i), whose own values "
                "netperf does not print."
            )
        if line.text.startswith("!!! Desired confidence was not achieved"):
            yield f"{line.file}: netperf says that its own confidence was not reached."
        if match := _CONFIDENCE.match(line.text):
            yield f"{line.file}: its interval for throughput is {match[1]} % wide."


def _recognises(head: str) -> bool:
    first = head.lstrip()[:1]
    if first in ("{", "["):
        return '"THROUGHPUT"' in head and '"THROUGHPUT_UNITS"' in head
    return (
        (" TEST from " in head and " port " in head)
        or "THROUGHPUT_UNITS=" in head
        or "Throughput,Throughput Units" in head
        or all(f"{name}" in head for name in (SELECTORS["THROUGHPUT_UNITS"], "Elapsed Time (sec)"))
        or ("Send   Recv   Size" in head and "Trans." in head)
        or ("Socket Socket  Message  Elapsed" in head)
    )


IMPORTER: Final = Importer(
    name="netperf",
    about="netperf 2.4 to 2.7: the tables of every test in any unit (`-f`), with and without CPU; "
    "CSV (`-o`), key=value (`-k`), tables of omni (`-O`) and JSON by selectors",
    left_out="elapsed times, counts of messages, interim results (`-D`), what `-v 2` adds, "
    "selectors of other things than throughput, CPU, service demand and latency",
    cut_off="a table that is not whole is refused",
    repeats="executions",
    recognises=_recognises,
    read=read,
    metrics=all_units(
        (one for one in printed_in(rate, demand).values() if one.name not in PERCENTILES.values())
        for rate, demand in ((MBIT_S, US_PER_KB), (PER_S, MICROSECONDS))
    ),
    grid=("message", "request", "response", "burst", "send_buffer", "receive_buffer"),
    timed=("latency",),
    # 100 bins a decade, each decade from 0: of 100 µs they are 10 µs wide.
    bin_width=1 / 10,
)
