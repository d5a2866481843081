"""The engine beside itself: operations timed or not, two flows on two CPUs or one on one."""

from ..harness import Group, Peer
from . import ours
from .rig import Rig

TRIAL_S = 1


def comparisons(rig: Rig) -> list[Group]:
    """Where operations are short, and the clock is the larger part of them."""
    alone = rig.on_one_cpu()
    return [_timed_stream(alone), _timed_exchange(alone), _flows(rig)]


def _timed_stream(rig: Rig) -> Group:
    """Sends of 64 bytes."""
    each, not_each = (
        ours.stream(rig, message=64, seconds=TRIAL_S, timing=timing)
        for timing in ("operation", "pass")
    )
    peer = Peer("ours, not timed", not_each, {"per byte": 0.97})
    return Group(f"TCP_STREAM 64 B, timed, {rig.name}", each, (peer,))


def _timed_exchange(rig: Rig) -> Group:
    """Transactions of one byte each way."""
    each, not_each = (
        ours.exchange(rig, "tcp_rr", size=1, seconds=TRIAL_S, timing=timing)
        for timing in ("operation", "pass")
    )
    peer = Peer("ours, not timed", not_each, {"per transaction": 0.97})
    return Group(f"TCP_RR 1 B, timed, {rig.name}", each, (peer,))


def _flows(rig: Rig) -> Group:
    """Each CPU has both ends of a flow."""
    message = 16 << 10
    one = ours.stream(rig.on_one_cpu(), message=message, seconds=TRIAL_S)
    cpus = (rig.client_cpus, rig.server_cpus)
    placed = {"cpus": [int(cpu) for cpu in cpus]}
    both = rig.on(",".join(cpus))
    two = ours.stream(both, message=message, seconds=TRIAL_S, flows=2, client=placed, server=placed)
    peer = Peer("ours, one flow", one, {"per byte": 1.8})
    return Group(f"TCP_STREAM two flows, {rig.name}", two, (peer,))
