"""TCP streams beside netperf and iperf3."""

from ..harness import Group
from . import iperf3, netperf, ours
from .peers import present
from .rig import Rig

TRIAL_S = 1
KIB = 1 << 10
MESSAGES = (64, KIB, 16 * KIB, 64 * KIB)
TARGETS = {"per byte": 1.0}


def comparisons(rig: Rig) -> list[Group]:
    """At four sizes of what is sent; iperf3 also receives no more at once."""
    return [_stream(rig, message) for message in MESSAGES]


def _stream(rig: Rig, message: int) -> Group:
    size = f"{message // KIB} KiB" if message >= KIB else f"{message} B"
    sides = {
        "netperf": netperf.stream(rig, message, TRIAL_S),
        "iperf3": iperf3.stream(rig, message, TRIAL_S),
    }
    mine = ours.stream(rig, message=message, seconds=TRIAL_S, timing="pass")
    return Group(f"TCP_STREAM {size}, {rig.name}", mine, present(sides, TARGETS))
