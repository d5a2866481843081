"""iperf3's JSON: what the receiving end got, each direction of ``--bidir`` by itself."""

import re
from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Final

from tiltyard.errors import UsageError
from tiltyard.importers.importer import (
    ForPeople,
    Imported,
    Importer,
    Measured,
    detail,
    single,
)
from tiltyard.importers.json_file import Node, result_of, texts_of
from tiltyard.importers.quantities import (
    BITS_S,
    MBIT_S,
    MICROSECONDS,
    MILLISECONDS,
    PER_S,
    PERCENT,
    Unit,
    metric,
)
from tiltyard.importers.reading import head_of

METRICS: Final = (  # the file has bits per second; people read Mbit/s
    metric("throughput", MBIT_S, 1),
    metric("sent", MBIT_S, 1, headline=False, label="throughput as sent"),
    metric("retransmits", PER_S, None, headline=False, direction="lower"),
    metric("lost", PERCENT, None, headline=False, label="lost datagrams"),
    metric("jitter", MILLISECONDS, None, headline=False),
    metric("round_trip", MICROSECONDS, None, headline=False, label="round trip of the sender"),
    metric("cpu_client", PERCENT, None, headline=False, label="CPU of the client"),
    metric("cpu_server", PERCENT, None, headline=False, label="CPU of the server"),
)
_LABELS: Final = {one.name: one.label for one in METRICS}
_UP: Final = {"direction": "client to server"}
_DOWN: Final = {"direction": "server to client"}
_SETTINGS: Final = (
    "num_streams", "blksize", "duration", "bytes", "blocks", "omit", "target_bitrate", "tos",
)  # fmt: skip
_SLICES: Final = (
    "iperf3 states one value of a run; its intervals are slices of time within that run, say "
    "nothing of how well a run repeats, and are not used."
)
_HEAD_BYTES: Final = 2**12
_EVENT: Final = re.compile(r'^\{"event":\s*"', re.MULTILINE)
_ONLY_SENT: Final = (
    "This iperf3 states of UDP only how much was sent and which share was lost, not what arrived."
)
_OF_SENDER: Final = (
    "{}: is of the sender, which does not know what arrived; take the file of the other end."
)


def read(data: bytes, name: str) -> Imported:
    """One file as ``iperf3 --json`` wrote it, at the client or at the server."""
    is_stream = _EVENT.search(head_of(data[:_HEAD_BYTES]))
    top = _streamed(data, name) if is_stream else result_of(data, name)
    error = top.get("error")
    if error is not None:
        raise UsageError(f"{name}: error: iperf3 ended with: {error.text()}; run it again")
    start, end = top["start"], top["end"]
    test = start["test_start"]
    protocol = test["protocol"].text()
    first = _DOWN if _number(test, "reverse") else _UP
    limits = [_SLICES]
    measured = [*_direction(end, "", first, protocol, limits), *_processors(start, end)]
    if end.get("sum_sent_bidir_reverse"):
        measured += _direction(end, "_bidir_reverse", _DOWN, protocol, limits)
    lost = any(one.metric == "lost" for one in measured)
    received = any(one.metric == "throughput" for one in measured)
    return single(
        use=f"iperf3 {protocol}",
        lineage=start["version"].text(),
        metrics=METRICS,
        measured=tuple(measured),
        parameters=_parameters(start, test, end),
        grid=("direction",),
        limits=(
            *limits,
            *(() if received else (_ONLY_SENT if lost else _OF_SENDER.format(name),)),
        ),
    )


def _streamed(data: bytes, name: str) -> Node:
    """What ``--json-stream`` writes, a text for each event, as if it were one."""
    events = {one["event"].text(): one["data"].content for _, one in texts_of(data, name)}
    return Node(name, "", events)


def _direction(
    end: Node, suffix: str, at: Mapping[str, str], protocol: str, limits: list[str]
) -> Iterator[Measured]:
    """One direction of the traffic. An end that does not know what the other did states 0."""

    def value(name: str, unit: Unit, node: Node) -> Iterator[Measured]:
        return detail(
            _LABELS[name], lambda: Measured(name, at, (unit.value(node.value()),)), limits
        )

    received = end.get(f"sum_received{suffix}")
    sent = end.get(f"sum_sent{suffix}") or end.get(f"sum{suffix}")
    if received and received["bytes"].value():
        yield Measured("throughput", at, (BITS_S.value(received["bits_per_second"].value()),))
    if sent and sent["bytes"].value():
        yield Measured("sent", at, (BITS_S.value(sent["bits_per_second"].value()),))
        if (again := sent.get("retransmits")) and (seconds := sent["seconds"].value()):
            yield Measured("retransmits", at, (float(again.value() / seconds),))
    losses = received or end.get(f"sum{suffix}")
    if protocol == "UDP" and losses and losses["packets"].value():
        lost = [*value("lost", PERCENT, losses["lost_percent"])]
        if any(share > 1 for one in lost for share in one.values):
            limits.append("lost datagrams left out, as they are more than 100 %.")
        else:
            yield from lost
        yield from value("jitter", MILLISECONDS, losses["jitter_ms"])
    if not suffix and (trips := _round_trips(end)):
        yield Measured(
            "round_trip", at, (MICROSECONDS.value(sum(trips, Fraction(0)) / len(trips)),)
        )


def _round_trips(end: Node) -> list[Fraction]:
    """The mean of each stream that this end sent, in µs; of others the kernel has none."""
    found = []
    for stream in end["streams"].entries():
        sender = stream.get("sender")
        if sender and sender.get("mean_rtt") and sender.table().get("sender", True):
            found.append(sender["mean_rtt"].value())
    return [one for one in found if one]


def _processors(start: Node, end: Node) -> Iterator[Measured]:
    """How busy each end was; ``host`` is the one that wrote the file."""
    used = end.get("cpu_utilization_percent")
    ends = (
        ("cpu_client", "cpu_server") if start.get("connecting_to") else ("cpu_server", "cpu_client")
    )
    for name, key in zip(ends, ("host_total", "remote_total"), strict=True):
        share = used.get(key) if used else None
        if share and share.value():
            yield Measured(name, values=(PERCENT.value(share.value()),))


def _parameters(start: Node, test: Node, end: Node) -> dict[str, str]:
    """What was asked for; 0 is iperf3's word for nothing asked."""
    found = {key: node.text() for key in _SETTINGS if (node := test.get(key)) and node.value()}
    for key in ("tcp_mss_default", "sock_bufsize"):
        if (node := start.get(key)) and node.value():
            found[key] = node.text()
    for key in ("sender_tcp_congestion", "receiver_tcp_congestion"):
        if node := end.get(key):
            found[key] = node.text()
    return found


def _number(node: Node, key: str) -> Fraction:
    """A number that older versions do not write: 0."""
    found = node.get(key)
    return found.value() if found else Fraction(0)


IMPORTER: Final = Importer(
    name="iperf3",
    about="iperf3 --json or --json-stream, TCP, UDP and SCTP, also --reverse and --bidir, of "
    "client or server",
    left_out="intervals, single streams, counts of bytes and packets",
    cut_off="refused, as it is no JSON then",
    disowns=r"^iperf3: (?:error|interrupt) - ",
    recognises=lambda head: '"iperf 3' in head and '"start"' in head,
    read=read,
    # iperf 2 prints one decimal or four.
    for_people=ForPeople(
        r"^\[ *(?:\d+|SUM)\](?:\[[RT]X-[CS]\])? +\d+\.\d\d-\d+\.\d\d +sec ",
        "add --json to its command line",
    ),
    metrics=METRICS,
    grid=("direction",),
)
