"""What pgbench prints at its end, of PostgreSQL 9 to 18.

Where it prints two rates, as up to version 13, the one without the time of connecting is read.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

from tiltyard.importers.importer import Imported, Importer, Measured, single
from tiltyard.importers.quantities import MILLISECONDS, PER_S, PERCENT, Unit, metric
from tiltyard.importers.reading import Line, lines_of

_GRID: Final = ("script",)
METRICS: Final = (
    metric("transactions", PER_S, 6),
    metric("latency", MILLISECONDS, 3, label="mean latency", headline=False),
    metric("schedule_lag", MILLISECONDS, 3, label="lag behind the schedule", headline=False),
    metric("connection_time", MILLISECONDS, 3, headline=False),
    metric("failed", PERCENT, 3, label="failed transactions", headline=False),
    metric("skipped", PERCENT, 3, label="skipped transactions", headline=False),
    metric("late", PERCENT, 3, label="transactions above the latency limit", headline=False),
    metric("retried", PERCENT, 3, label="retried transactions", headline=False),
    metric("script_transactions", PER_S, 6, label="transactions of a script", headline=False),
    metric("script_latency", MILLISECONDS, 3, label="mean latency of a script", headline=False),
)
_FIGURES: Final[tuple[tuple[str, Unit, re.Pattern[str]], ...]] = tuple(
    (name, unit, re.compile(pattern))
    for name, unit, pattern in (
        ("transactions", PER_S, r"tps = (\S+)(?: \((?:without|excluding|including reconn).*\))?"),
        ("latency", MILLISECONDS, r"latency average(?: =|:) (\S+) ms"),
        ("schedule_lag", MILLISECONDS, r"rate limit schedule lag: avg (\S+) \(max \S+\) ms"),
        ("connection_time", MILLISECONDS, r"(?:initial|average) connection time = (\S+) ms"),
        ("failed", PERCENT, r"number of failed transactions: \d+ \((\S+)%\)"),
        ("skipped", PERCENT, r"number of transactions skipped: \d+ \((\S+)\s?%\)"),
        ("late", PERCENT, r"number of transactions above the .* latency limit: \S+ \((\S+)\s?%\)"),
        ("retried", PERCENT, r"number of transactions retried: \d+ \((\S+)%\)"),
    )
)
_SETTINGS: Final = (
    "transaction type", "scaling factor", "query mode", "number of clients", "number of threads",
    "duration", "number of transactions per client",
)  # fmt: skip
_SCRIPT: Final = re.compile(r"SQL script \d+: (.*)")
_OF_SCRIPT: Final[tuple[tuple[str, Unit, re.Pattern[str]], ...]] = tuple(
    (name, unit, re.compile(pattern))
    for name, unit, pattern in (
        ("script_transactions", PER_S, r" - \d+ transactions \(.*, tps = (\S+)\)"),
        ("script_latency", MILLISECONDS, r" - latency average = (\S+) ms"),
    )
)
"""What is printed of each of several scripts, below its name."""
_BEGINS: Final = re.compile(r"transaction type: .*")
_FAILED: Final = next(pattern for name, _, pattern in _FIGURES if name == "failed")
_MOST_FAILED_PERCENT: Final = 50
_VERSION: Final = re.compile(r"pgbench \(([\d.]+\w*)")


def read(data: bytes, name: str) -> Imported:
    """The report of one ``pgbench``."""
    lines = lines_of(data, name)
    reports = [line for line in lines if _BEGINS.fullmatch(line.text)]
    if len(reports) > 1:
        raise reports[1].refused("a second report; give each report in its own file")
    for line in lines:
        share = _FAILED.fullmatch(line.text)
        if share and line.value(share[1]) > _MOST_FAILED_PERCENT:
            raise line.refused(
                f"{share[1]} % of its transactions failed, so the rate is that of the few others; "
                "run it again"
            )
    version = next((match[1] for one in lines if (match := _VERSION.match(one.text))), "")
    return single(
        use="pgbench",
        lineage=f"pgbench {version}".strip(),
        metrics=METRICS,
        measured=tuple(_measured(lines)),
        parameters=dict(_parameters(lines)),
        grid=_GRID,
        limits=(
            "pgbench states one value of a run; its standard deviation is that of single "
            "transactions, says nothing of how well a run repeats, and is not used.",
        ),
    )


def _measured(lines: Sequence[Line]) -> Iterator[Measured]:
    """Of all scripts together, and of each where there are several; one may be there twice."""
    at: dict[str, int | str] = {}
    times = Counter[str]()
    for line in lines:
        if match := _SCRIPT.fullmatch(line.text):
            name = match[1].rpartition("/")[2]
            times[name] += 1
            at = {"script": f"{name} ({times[name]})" if times[name] > 1 else name}
        for name, unit, pattern in (*_FIGURES, *(_OF_SCRIPT if at else ())):
            if match := pattern.fullmatch(line.text):
                own = at if name.startswith("script_") else {}
                yield Measured(name, own, values=(unit.value(line.value(match[1])),))


def _parameters(lines: Sequence[Line]) -> Iterator[tuple[str, str]]:
    for line in lines:
        key, colon, value = line.text.partition(": ")
        if colon and key in _SETTINGS:
            yield key, value


IMPORTER: Final = Importer(
    name="pgbench",
    about="what pgbench prints at its end, also with `-P`, `-R` and `-L`",
    left_out="deviations of single transactions, progress (`-P`), latencies of statements (`-r`), "
    "weights and failures of single scripts",
    cut_off="figures that are there are kept; refused without any",
    disowns=r"Run was aborted; the above results are incomplete",
    recognises=lambda head: "transaction type: " in head and "number of clients: " in head,
    read=read,
    metrics=METRICS,
    grid=_GRID,
)
