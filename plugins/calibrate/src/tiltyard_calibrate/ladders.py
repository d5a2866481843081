"""Known steps of bandwidth, made by throttles of the kernel where the host has them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from tiltyard.address import Address
from tiltyard.errors import HostLacksError
from tiltyard_calibrate.bench import Bench, Fate
from tiltyard_calibrate.examine import step_of
from tiltyard_calibrate.model import Ladder
from tiltyard_calibrate.studies import (
    LIMITS_MB,
    RATES_MBIT,
    Part,
    disk_steps_part,
    network_steps_part,
)
from tiltyard_calibrate.subjects import IN_MEMORY, PLACES, Place


@dataclass(frozen=True)
class _Throttle:
    """One throttle of the kernel."""

    name: str
    about: str
    place: Place
    """Systems that have it."""
    workload: str
    unit: str
    limits: tuple[int, ...]
    """In that unit; the steps are relative to the first."""
    allowed: float
    """Percentage points to which a limit is known."""
    part: Callable[[Place, Fate], Part]


_THROTTLES: Final = (
    _Throttle(
        name="network",
        about="a token bucket (tbf) between two network namespaces, tcp_stream",
        place=PLACES["pair"],
        workload="tcp_stream",
        unit="Mbit/s",
        limits=RATES_MBIT,
        allowed=0.5,
        part=network_steps_part,
    ),
    _Throttle(
        name="disk",
        about="the I/O controller (cgroup v1, blkio) on a loop device over memory, direct reads",
        place=IN_MEMORY,
        workload="random",
        unit="MB/s",
        limits=LIMITS_MB,
        # A slice in advance is a sixtieth of a trial, and there are none, one or two.
        allowed=2.0,
        part=disk_steps_part,
    ),
)


def ladders_of(bench: Bench, kinds: Sequence[str], address: Address) -> tuple[Ladder, ...]:
    """Every throttle, examined or with the reason why it was not.

    Args:
        bench: Carries the studies out.
        kinds: Kinds of systems that a person asks for; empty: all.
        address: Of the host that has them.
    """
    return tuple(_examine(bench, throttle, kinds, address) for throttle in _THROTTLES)


def _examine(bench: Bench, throttle: _Throttle, kinds: Sequence[str], address: Address) -> Ladder:
    place = throttle.place.on(address)
    missing = None
    values = None
    if kinds and throttle.place.kind not in kinds:
        missing = f"--systems does not name {throttle.place.kind}"
    else:
        try:
            outcome = bench.carry_out(throttle.part(place, bench.disturbed))
            values = outcome.log_values(throttle.workload)
        except HostLacksError as error:
            missing = str(error)
    full, *less = throttle.limits
    return Ladder(
        name=throttle.name,
        about=throttle.about,
        full=f"{full} {throttle.unit}",
        allowed=throttle.allowed,
        steps=()
        if values is None
        else tuple(
            step_of(
                f"{limit} {throttle.unit}",
                limit / full,
                values[:, 0],
                values[:, place],
                throttle.allowed,
            )
            for place, limit in enumerate(less, start=1)
        ),
        missing=missing,
    )
