"""What sockperf prints: ping-pong and under-load (latency), throughput (messages per second).

Its ``MBps`` are 1024² bytes, its ``GBps`` a thousand of those (``--giga-size``), whatever the names
say. Latencies are half a round trip, unless it was run with ``--full-rtt``; then it calls them so.
"""

import re
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Final

from tiltyard.errors import UsageError
from tiltyard.importers.importer import Imported, Importer, Measured, single
from tiltyard.importers.quantities import (
    MIB_S,
    MICROSECONDS,
    PER_S,
    Unit,
    metric,
    percentile_name,
)
from tiltyard.importers.reading import Line, lines_of

METRICS: Final = (
    metric("latency", MICROSECONDS, 3, label="latency, half a round trip"),
    metric("round_trip", MICROSECONDS, 3),
    metric("throughput", MIB_S, 3),
    metric("messages", PER_S, 0, headline=False),
)
_AVERAGE: Final = re.compile(r"====> avg-(?P<kind>latency|rtt|lat)=(?P<value>[^\s;]+)")
_PERCENTILE: Final = re.compile(r"---> percentile (?P<share>\S+)\s*=\s*(?P<value>\S+)")
_RATE: Final = re.compile(r"Summary: Message Rate is (?P<value>\S+) \[msg/sec\]")
_BANDWIDTH: Final = re.compile(r"Summary: BandWidth is (?P<value>\S+) (?P<unit>\S+)")
_LOST: Final = re.compile(
    r"# dropped messages = (?P<dropped>\S+); # duplicated messages = (?P<duplicated>\S+); "
    r"# out-of-order messages = (?P<misplaced>\S+)"
)
_TO: Final = re.compile(r"\[\s*\d+\] IP = \S+\s+PORT =\s+\d+ # (?P<protocol>\w+)")
_SIZE: Final = re.compile(r"using (?:average )?msg-size=(\d+(?: \(\+/-\d+\))?)")
_BURST: Final = re.compile(r"Summary: \S+(?: \S+)? of burst of (\d+) messages")
_UNITS: Final = {"MBps": MIB_S, "GBps": Unit("GB/s", "B/s", Fraction(1000 * 2**20))}
_ENDED: Final = "Summary: "
_SENT: Final = "The throughput of sockperf is what its client sent, not what arrived."


def read(data: bytes, name: str) -> Imported:
    """The output of one client."""
    lines = lines_of(data, name)
    protocol = next((match["protocol"] for one in lines if (match := _TO.search(one.text))), "")
    measured = tuple(_measured(lines))
    if not measured or not any(_ENDED in line.text for line in lines):
        raise UsageError(f"{name}: no summary of sockperf; give all that its client printed")
    told = (("message size", _SIZE), ("messages in a burst", _BURST))
    parameters = {
        key: ", ".join(values) for key, pattern in told if (values := _all(pattern, lines))
    }
    use = " ".join(filter(None, ("sockperf", protocol)))
    return single(
        use=use,
        lineage=_version(lines),
        metrics=METRICS,
        measured=measured,
        parameters=parameters,
        limits=(
            "sockperf states one mean of a run; its deviation is that of single messages, says "
            "nothing of how well a run repeats, and is not used.",
            *(_SENT for one in measured if one.metric == "throughput"),
            *_losses(lines),
        ),
    )


def _all(pattern: re.Pattern[str], lines: Sequence[Line]) -> list[str]:
    """What a pattern finds, each once."""
    return list(dict.fromkeys(match[1] for line in lines if (match := pattern.search(line.text))))


def _measured(lines: Sequence[Line]) -> Iterator[Measured]:
    percentiles = {}
    for line in lines:
        if match := _PERCENTILE.search(line.text):
            name = percentile_name(line.value(match["share"], "a share in percent"))
            percentiles[name] = MICROSECONDS.value(line.value(match["value"], "µs"))
    for line in lines:
        if match := _AVERAGE.search(line.text):
            kind = "round_trip" if match["kind"] == "rtt" else "latency"
            value = MICROSECONDS.value(line.value(match["value"], "µs"))
            yield Measured(kind, values=(value,), percentiles=percentiles)
        elif match := _RATE.search(line.text):
            yield Measured("messages", values=(PER_S.value(line.value(match["value"])),))
        elif match := _BANDWIDTH.search(line.text):
            if match["unit"] not in _UNITS:
                raise line.refused(f'"{match["unit"]}" should be one of {", ".join(_UNITS)}')
            unit = _UNITS[match["unit"]]
            yield Measured("throughput", values=(unit.value(line.value(match["value"])),))


def _losses(lines: Sequence[Line]) -> Iterator[str]:
    """Of a run in which messages did not come, came twice or in disorder."""
    for line in lines:
        match = _LOST.search(line.text)
        counts = (
            {key: line.count(value) for key, value in match.groupdict().items()} if match else {}
        )
        if any(counts.values()):
            yield (
                f"sockperf: {counts['dropped']} messages were dropped, {counts['duplicated']} came "
                f"twice and {counts['misplaced']} out of order; a lost message has no latency."
            )


def _version(lines: Sequence[Line]) -> str:
    found = (re.search(r"version #(\S+)", line.text) for line in lines)
    return next((f"sockperf {match[1]}" for match in found if match), "")


IMPORTER: Final = Importer(
    name="sockperf",
    about="what a client of sockperf 3 prints: ping-pong, under-load, throughput",
    left_out="counts of messages, deviations, least and largest observations",
    cut_off="refused without its summary; percentiles that are cut off are not there",
    disowns=r"ERROR:|No messages were received",
    recognises=lambda head: "sockperf: " in head,
    read=read,
    metrics=METRICS,
    timed=("latency", "round_trip"),
)
