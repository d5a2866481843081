"""netperf's classic tables, and what its omni tests print in every form.

These are CSV (``-o``), key=value (``-k``), tables (``-O``) and JSON.

Its bits are decimal, its KB are 1024 B. A figure of -1 was not measured, and is missing.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from tiltyard.delimited import fields_of
from tiltyard.importers.importer import Imported, ImportedWorkload, Importer, Measured
from tiltyard.importers.json_file import json_of
from tiltyard.importers.quantities import MBIT_S, MICROSECONDS, PER_S, PERCENT, Unit, all_units
from tiltyard.importers.reading import Line, head_of, lines_of
from tiltyard_readers.netperf.classic import measured, tables
from tiltyard_readers.netperf.figures import (
    PERCENTILES,
    US_PER_KB,
    Outcome,
    metrics,
    printed_in,
    rate_unit,
    test_of,
)

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


SELECTORS: Final = {
    "PROTOCOL": "Protocol",
    "DIRECTION": "Direction",
    "ELAPSED_TIME": "Elapsed Time (sec)",
    "THROUGHPUT": "Throughput",
    "THROUGHPUT_UNITS": "Throughput Units",
    "LSS_SIZE_REQ": "Local Send Socket Size Requested",
    "RSR_SIZE_REQ": "Remote Recv Socket Size Requested",
    "LOCAL_SEND_SIZE": "Local Send Size",
    "REMOTE_SEND_SIZE": "Remote Send Size",
    "REQUEST_SIZE": "Request Size Bytes",
    "RESPONSE_SIZE": "Response Size Bytes",
    "BURST_SIZE": "Initial Burst Requests",
    "LOCAL_CPU_UTIL": "Local CPU Util %",
    "REMOTE_CPU_UTIL": "Remote CPU Util %",
    "LOCAL_SD": "Local Service Demand",
    "REMOTE_SD": "Remote Service Demand",
    "SD_UNITS": "Service Demand Units",
    "LOCAL_SEND_THROUGHPUT": "Local Send Throughput",
    "RT_LATENCY": "Round Trip Latency usec/tran",
    "MEAN_LATENCY": "Mean Latency Microseconds",
    "P50_LATENCY": "50th Percentile Latency Microseconds",
    "P90_LATENCY": "90th Percentile Latency Microseconds",
    "P99_LATENCY": "99th Percentile Latency Microseconds",
}
"""Those that are read, with their heads in CSV."""
_BY_HEAD: Final = {head: name for name, head in SELECTORS.items()}
_DIMENSIONS: Final = {
    "REQUEST_SIZE": "request",
    "RESPONSE_SIZE": "response",
    "LSS_SIZE_REQ": "send_buffer",
    "RSR_SIZE_REQ": "receive_buffer",
    "BURST_SIZE": "burst",
}
_RATE_HEAD: Final = re.compile(r"\bThroughput\b")
_PAIR: Final = re.compile(r"([A-Z][A-Z0-9_]+)=(.*)")


def csv_outcomes(lines: Sequence[Line]) -> Iterator[Outcome]:
    """A head of selectors, and the line of figures under it."""
    test = ""
    rest = iter(lines)
    for line in rest:
        test = test_of(line.text) or test
        heads = [field.strip() for field in line.text.split(",")]
        if "Throughput" not in heads or not set(heads) <= _known_heads(heads):
            continue
        values = next(rest, None)
        # Interim results (-D) are of the same form, and are not the result.
        while values is not None and values.text.count(",") == 3 and len(heads) != 4:
            values = next(rest, None)
        if values is None:
            raise line.refused("no line of figures under this head; the file is cut off")
        fields = fields_of(values.text)
        if len(fields) != len(heads):
            raise values.refused(f"{len(fields)} fields under a head of {len(heads)}")
        named = {
            _BY_HEAD[head]: field.strip()
            for head, field in zip(heads, fields, strict=True)
            if head in _BY_HEAD
        }
        yield _outcome(test, named, values)


def table_outcomes(lines: Sequence[Line]) -> Iterator[Outcome]:
    """What ``-O`` prints, and omni by itself: columns whose heads stand over several lines.

    Raises:
        UsageError: if the columns cannot be told, or the row of figures is not there.
    """
    test, heads = "", list[Line]()
    for line, below in zip(lines, (*lines[1:], None), strict=True):
        test = test_of(line.text) or test
        begins = bool(
            below and _RATE_HEAD.search(line.text) and re.search(r"\bUnits\b", below.text)
        )
        if heads and not begins and rate_unit(line.text):
            yield _outcome(test, _columns(heads, line), line)
            heads = []
        elif begins or heads:
            heads.append(line)
    if heads:
        raise heads[0].refused("no line of figures under this head; the file is cut off")


def _columns(heads: Sequence[Line], row: Line) -> dict[str, str]:
    """Selector → figure; figures stand where the parts of their heads begin."""
    starts = [match.start() for match in re.finditer(r"\S+", row.text)]
    named = {}
    for start, end in zip(starts, (*starts[1:], None), strict=True):
        head = " ".join(" ".join(line.text[start:end] for line in heads).split())
        if head in _BY_HEAD:
            named[_BY_HEAD[head]] = row.text[start:end].strip()
    if "THROUGHPUT" not in named or "THROUGHPUT_UNITS" not in named:
        raise heads[0].refused(
            "a table of omni whose columns cannot be told; use -o (CSV) or -k (key=value) after "
            "the -- instead of -O"
        )
    return named


def _known_heads(heads: Sequence[str]) -> set[str]:
    """All of them if two or more are selectors: then the others are as well."""
    own = set(heads) & set(_BY_HEAD)
    return set(heads) if len(own) > 1 else own


def keyval_outcomes(lines: Sequence[Line]) -> Iterator[Outcome]:
    """Pairs, until one comes again or a banner stands between."""
    test, last = "", None
    pairs: dict[str, str] = {}
    for line in lines:
        announced, pair = test_of(line.text), _PAIR.fullmatch(line.text.strip())
        if pairs and last and (announced or (pair and pair[1] in pairs)):
            yield _outcome(test, pairs, last)
            pairs = {}
        test = announced or test
        if pair and not pair[1].startswith("NETPERF_"):
            pairs[pair[1]], last = pair[2].strip(), line
    if last and "THROUGHPUT" in pairs:
        yield _outcome(test, pairs, last)


def json_outcomes(data: bytes, name: str) -> Iterator[Outcome]:
    """One table of selectors, or a list of them."""
    top = json_of(data, name)
    for node in top.entries() if isinstance(top.content, list) else [top]:
        pairs = {key: one.text() for key, one in node.items() if key in SELECTORS}
        yield _outcome("", pairs, Line(name, 1, ""))


def _outcome(test: str, pairs: Mapping[str, str], line: Line) -> Outcome:
    """An execution by its selectors.

    Raises:
        UsageError: if the rate or its unit is not among them.
    """
    if "THROUGHPUT" not in pairs:
        raise line.refused("no THROUGHPUT among the selectors; add it to -o or -k")
    unit = rate_unit(pairs.get("THROUGHPUT_UNITS", ""))
    if unit is None:
        raise line.refused("no THROUGHPUT_UNITS that are sure; add that selector, and use -f m")
    of_bytes = pairs.get("SD_UNITS", "") == "usec/KB"
    outcome = Outcome(
        _test(test, pairs), _dimensions(pairs, line), unit, US_PER_KB if of_bytes else MICROSECONDS
    )
    outcome.values[outcome.headline] = unit.value(line.value(pairs["THROUGHPUT"]))
    also: tuple[tuple[str, str, Unit], ...] = (
        ("cpu_near", "LOCAL_CPU_UTIL", PERCENT),
        ("cpu_far", "REMOTE_CPU_UTIL", PERCENT),
        ("service_demand_near", "LOCAL_SD", outcome.demand),
        ("service_demand_far", "REMOTE_SD", outcome.demand),
        ("latency", "MEAN_LATENCY", MICROSECONDS),
        ("latency", "RT_LATENCY", MICROSECONDS),
    )
    if outcome.test.startswith("UDP_STREAM"):
        also = (*also, ("throughput_sent", "LOCAL_SEND_THROUGHPUT", unit))
    for name, selector, own in also:
        value = measured(line, pairs.get(selector, ""))
        if value is not None and (value or not name.startswith("cpu")):
            outcome.values[name] = own.value(value)
    percentiles = {
        name: MICROSECONDS.value(value)
        for selector, name in PERCENTILES.items()
        if (value := measured(line, pairs.get(selector, "")))
    }
    if "latency" in outcome.values:
        named = {name.removeprefix("latency_"): value for name, value in percentiles.items()}
        outcome.percentiles["latency"] = named
    else:
        outcome.values |= percentiles
    return outcome


def _test(test: str, pairs: Mapping[str, str]) -> str:
    """By the banner; else by protocol and direction; else unknown."""
    if test or "PROTOCOL" not in pairs:
        return test
    way = {"Send": "STREAM", "Receive": "MAERTS", "Send|Recv": "RR"}
    return f"{pairs['PROTOCOL']}_{way.get(pairs.get('DIRECTION', ''), 'omni')}"


def _dimensions(pairs: Mapping[str, str], line: Line) -> dict[str, int | str]:
    """What the execution was asked for; sizes left to the kernel are 0."""
    sizes = {name: measured(line, pairs[key]) for key, name in _DIMENSIONS.items() if key in pairs}
    if "request" not in sizes or sizes["request"] is None:
        sizes.pop("request", None)
        sizes.pop("response", None)
        for key in ("LOCAL_SEND_SIZE", "REMOTE_SEND_SIZE"):
            if value := measured(line, pairs.get(key, "")):
                sizes = {"message": value, **sizes}
                break
    return {name: int(value or 0) for name, value in sizes.items()}
