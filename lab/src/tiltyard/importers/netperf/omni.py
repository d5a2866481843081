"""What netperf prints by selectors: CSV, key=value, and JSON with selectors as keys."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from tiltyard.delimited import fields_of
from tiltyard.importers.json_file import json_of
from tiltyard.importers.netperf.classic import measured
from tiltyard.importers.netperf.figures import PERCENTILES, US_PER_KB, Outcome, rate_unit, test_of
from tiltyard.importers.quantities import MICROSECONDS, PERCENT, Unit
from tiltyard.importers.reading import Line

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
