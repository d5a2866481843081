"""What redis-benchmark prints: CSV (``--csv``), one line a test (``-q``), or a report of each test.

Since version 7 it prints means and percentiles of latencies, before that in CSV the rate only.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from tiltyard.delimited import fields_of
from tiltyard.importers.importer import Imported, Importer, Measured, single
from tiltyard.importers.quantities import MILLISECONDS, PER_S, metric
from tiltyard.importers.reading import Line, lines_of

METRICS: Final = (
    metric("requests", PER_S, 2),
    metric("latency", MILLISECONDS, 3, label="mean latency", headline=False),
    metric("latency_max", MILLISECONDS, 3, label="longest latency", headline=False),
)
_HEAD: Final = '"test","rps"'
_OLD_ROW: Final = re.compile(r'"[^"]+","\d+\.\d+"')
_QUIET: Final = re.compile(r"(\S.*): (\S+) requests per second(?:, p50=(\S+) msec)?\s*")
_TITLE: Final = re.compile(r"====== (.+) ======")
_RATE: Final = re.compile(r"(?:  throughput summary: )?(\S+) requests per second")
_LATENCIES: Final = re.compile(r"\s+avg\s+min\s+p50\s+p95\s+p99\s+max")


def read(data: bytes, name: str) -> Imported:
    """The output of one ``redis-benchmark``."""
    lines = lines_of(data, name)
    table = any(one.text.startswith(_HEAD) or _OLD_ROW.fullmatch(one.text) for one in lines)
    measured = tuple(_rows(lines) if table else _reports(lines))
    return single(
        use="redis-benchmark",
        metrics=METRICS,
        measured=measured,
        grid=("test",),
        limits=("redis-benchmark runs one test after the other in one process.",),
    )


def _rows(lines: Sequence[Line]) -> Iterator[Measured]:
    """Of CSV: the columns stand in the head, where there is one."""
    head = ["test", "rps"]
    for line in lines:
        fields = fields_of(line.text)
        if line.text.startswith(_HEAD):
            head = fields
        elif fields and line.text.startswith('"'):
            if len(fields) != len(head):
                raise line.refused(f"{len(fields)} fields under a head of {len(head)}")
            row = dict(zip(head, fields, strict=True))
            latencies = {
                key.removesuffix("_latency_ms"): value
                for key, value in row.items()
                if key.endswith("_latency_ms")
            }
            yield from _of_test(line, row["test"], row["rps"], latencies)


def _reports(lines: Sequence[Line]) -> Iterator[Measured]:
    """Of text: a line of each test, or a paragraph with its latencies in a table."""
    test = ""
    for place, line in enumerate(lines):
        if match := _TITLE.fullmatch(line.text.strip()):
            test = match[1].strip()
        elif match := _QUIET.fullmatch(line.text):
            known = {"p50": match[3]} if match[3] else {}
            yield from _of_test(line, match[1], match[2], known)
        elif test and (match := _RATE.fullmatch(line.text)):
            yield from _of_test(line, test, match[1], {})
        elif test and _LATENCIES.fullmatch(line.text) and place + 1 < len(lines):
            row = lines[place + 1]
            if len(row.words) != len(line.words):
                raise row.refused(f"{len(row.words)} figures under a head of {len(line.words)}")
            found = dict(zip(line.words, row.words, strict=True))
            yield from _of_test(row, test, None, found)


def _of_test(
    line: Line, test: str, rate: str | None, latencies: dict[str, str]
) -> Iterator[Measured]:
    """The figures of one test; latencies in ms by avg, max and percentile."""
    at: dict[str, int | str] = {"test": test}
    if rate is not None:
        yield Measured("requests", at, (PER_S.value(line.value(rate)),))
    told = {name: MILLISECONDS.value(line.value(text)) for name, text in latencies.items()}
    if "avg" in told:
        percentiles = {name: told[name] for name in told if name.startswith("p")}
        yield Measured("latency", at, (told["avg"],), percentiles=percentiles)
    if "max" in told:
        yield Measured("latency_max", at, (told["max"],))


def _recognises(head: str) -> bool:
    return (
        f"\n{_HEAD}" in f"\n{head}"
        or any(_OLD_ROW.match(line) for line in head.splitlines())
        or bool(re.search(r"(?:^|\r|\n)[\w ]+: \S+ requests per second", head))
        or ("\n  throughput summary: " in head and "latency summary (msec):" in head)
        or ("====== " in head and " requests completed in " in head)
    )


IMPORTER: Final = Importer(
    name="redis-benchmark",
    about="what redis-benchmark 3 to 7 prints, with `--csv`, `-q` or neither",
    left_out="shortest latencies, the distribution of latencies, the 50th percentile of `-q`",
    cut_off="tests that are whole are kept",
    recognises=_recognises,
    read=read,
    metrics=METRICS,
    grid=("test",),
    timed=("latency",),
    # HdrHistogram of three digits.
    bin_width=1 / 1024,
    # CONFIG_LATENCY_HISTOGRAM_MAX_VALUE.
    last_bin_s=3.0,
)
