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
    """At four sizes of what is sent."""
    beside = (_beside_netperf, _beside_iperf3)
    return [compare(rig, message) for message in MESSAGES for compare in beside]


def _beside_netperf(rig: Rig, message: int) -> Group:
    """Buffers take turns, and the receiving end asks for as much as its socket holds."""
    mine = ours.stream(rig, message=message, seconds=TRIAL_S, timing="pass")
    sides = {"netperf": netperf.stream(rig, message, TRIAL_S)}
    return Group(f"TCP_STREAM {_size(message)}, {rig.name}", mine, present(sides, TARGETS))


def _beside_iperf3(rig: Rig, message: int) -> Group:
    """Like with like: iperf3 sends and receives one buffer, as long as its -l, again and again."""
    mine = ours.stream(
        rig, message=message, receive=message, buffers=1, seconds=TRIAL_S, timing="pass"
    )
    sides = {"iperf3": iperf3.stream(rig, message, TRIAL_S)}
    name = f"TCP_STREAM {_size(message)}, one buffer, {rig.name}"
    return Group(name, mine, present(sides, TARGETS))


def _size(message: int) -> str:
    return f"{message // KIB} KiB" if message >= KIB else f"{message} B"
