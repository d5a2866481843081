"""Requests and responses beside netperf and sockperf, and connections made for one of them."""

from ..harness import Group
from . import netperf, ours, sockperf
from .peers import present
from .rig import Rig

TRIAL_S = 1
CONNECTIONS = 10_000
"""A stock netperf that is told a time waits four seconds more for connections to come."""
INNER = "per transaction"
PROTOCOLS = ("tcp", "udp")


def comparisons(rig: Rig) -> list[Group]:
    """Beside netperf."""
    return [*(_beside_netperf(rig, proto) for proto in PROTOCOLS), _connections(rig)]


def ping_pong(rig: Rig) -> list[Group]:
    """Beside sockperf."""
    return [_beside_sockperf(rig, proto) for proto in PROTOCOLS]


def _beside_netperf(rig: Rig, proto: str) -> Group:
    """One byte each way, the clock read around the whole."""
    test = f"{proto.upper()}_RR"
    mine = ours.exchange(rig, test.lower(), size=1, seconds=TRIAL_S, timing="pass")
    sides = {"netperf": netperf.exchange(rig, test, TRIAL_S)}
    return Group(f"{test} 1 B, {rig.name}", mine, present(sides, {INNER: 1.0}))


def _beside_sockperf(rig: Rig, proto: str) -> Group:
    """As few bytes as sockperf can send; both read the clock for each transaction."""
    test, size = f"{proto.upper()}_RR", sockperf.LEAST_BYTES
    mine = ours.exchange(rig, test.lower(), size=size, seconds=TRIAL_S, timing="operation")
    sides = {"sockperf": sockperf.exchange(rig, proto, TRIAL_S)}
    return Group(f"{test} {size} B, {rig.name}", mine, present(sides, {INNER: 1.05}))


def _connections(rig: Rig) -> Group:
    """So many one after another, each for one byte each way."""
    mine = ours.exchange(rig, "tcp_crr", size=1, transactions=CONNECTIONS, timing="pass")
    sides = {"netperf": netperf.exchange(rig, "TCP_CRR", -CONNECTIONS)}
    return Group(f"TCP_CRR 1 B, {rig.name}", mine, present(sides, {INNER: 1.0}))
