"""Settings of kind ``pair``, and the kernel parameters that they amount to."""

import re
from collections.abc import Set
from math import ceil
from typing import Literal, Self

from pydantic import Field, field_validator, model_validator

from tiltyard.host import sysctls
from tiltyard.host.place import Place
from tiltyard.study.problems import shown
from tiltyard.systems.ends import ENDS, End, Ends, Offloads, Qdiscs, Sysctls
from tiltyard.systems.kind import ReachableSettings
from tiltyard.systems.parameters import CONGESTION_CONTROL
from tiltyard.systems.placement import PlacedSettings
from tiltyard.systems.service.settings import ServedSettings
from tiltyard.tuning.knobs.network import NetworkTable
from tiltyard.tuning.knobs.sysctl import SysctlTable, settings
from tiltyard.tuning.profile import Profile
from tiltyard.tuning.setting import Outcome, Scene, look_at


def of_namespaces(
    profile: Profile, spoken: Set[str], place: Place
) -> tuple[dict[str, str], Profile, list[Outcome]]:
    """Kernel parameters that each network namespace has for itself.

    Args:
        profile: what is asked for.
        spoken: parameters that the study sets itself.
        place: the host of the namespaces.

    Returns:
        Their values, the profile without them, and those that its kernel does not have.
    """
    table = profile.table(SysctlTable)
    if table is None or not place.is_root:
        return {}, profile, []
    table = table.at(place)
    own = sysctls.of_a_namespace(place) - spoken
    looked = look_at([one for one in settings(table, Scene(place)) if one.name in own], place)
    values = {outcome.name: outcome.value for outcome in looked if outcome.status != "skipped"}
    skipped = [outcome for outcome in looked if outcome.status == "skipped"]
    return values, profile.with_table("sysctl", table.without(own | spoken)), skipped


def of_devices(profile: Profile) -> tuple[dict[str, bool], Profile]:
    """Features of the two devices, and the profile without them."""
    table = profile.table(NetworkTable)
    if table is None or not table.offloads:
        return {}, profile
    rest = profile.with_table("network", table.without({"offloads"}))
    return {name: value == "on" for name, value in table.offloads.items()}, rest


BUSY_POLL = ("net.core.busy_read", "net.core.busy_poll")

_RATE = re.compile(r"([0-9]+(?:\.[0-9]+)?)([kmg]?)bit")
_PREFIXES = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9}
_LEAST_BURST_BYTES = 2**18
"""Four of the largest packets that segmentation offload makes."""
_BURST_S = 0.001
_LATENCY = "20ms"
_QUEUE_S = 0.02
_DELAY = re.compile(r"([0-9]+(?:\.[0-9]+)?)(us|ms|s)")
_TO_US = {"us": 1, "ms": 10**3, "s": 10**6}
_LOSS = re.compile(r"([0-9]{1,2}(?:\.[0-9]+)?)%")
_FASTEST_BITS_S = 10**10
"""Of a path without a rate: so many packets may be under way."""


class PairSettings(PlacedSettings, ServedSettings, ReachableSettings):
    """How the two ends and the path between them are set; what is left out is the kernel's."""

    family: Literal["ipv4", "ipv6"] = Field(
        default="ipv4", description="Which Internet Protocol the two ends speak."
    )
    mtu: int = Field(
        default=1500,
        ge=1280,
        le=65535,
        description="Largest packet of the two devices, in bytes; 1280 is the least for IPv6.",
    )
    offloads: Offloads | None = Field(
        default=None,
        description="Features of the two devices by their names in ethtool -K: "
        "{ tso = false, gso = false }; each end's own in tables client and server.",
    )
    threaded: bool = Field(
        default=False,
        description="Receive in a kernel thread of each device (threaded NAPI), not on the CPU "
        "that sends; turns gro on, without which a virtual device cannot do it.",
    )
    rate: str | None = Field(
        default=None,
        description='Limit of either direction, counted with Ethernet headers: "500mbit". '
        "Short for a token bucket (tbf) with a burst of 1 ms or 256 KiB and a queue of 20 ms.",
    )
    delay: str | None = Field(
        default=None,
        description='What the path adds to a round trip, half of it at each end: "20ms". Short for '
        "netem, which the kernel must have, with room for the packets that are under way.",
    )
    loss: str | None = Field(
        default=None,
        description='Packets that are lost in either direction, at random: "0.1%". What a device '
        "sends as one packet is lost as one: turn the offloads tso and gso off.",
    )
    qdisc: Qdiscs | None = Field(
        default=None,
        description='Queueing discipline of the two devices, as tc takes it: "pfifo limit 1000"; '
        "each end's own in a table of client and server.",
    )
    congestion_control: str | None = Field(
        default=None, description="Congestion control of TCP at both ends."
    )
    sysctl: Sysctls | None = Field(
        default=None,
        description='Kernel parameters of the network: { "net.core.somaxconn" = 4096 }; each '
        "end's own in tables client and server. One that a namespace does not have for itself is "
        "set on the whole host, and put back.",
    )
    busy_poll: int | None = Field(
        default=None,
        ge=0,
        description="How long reading and polling look for data before they sleep, in µs, for all "
        "sockets of the host (net.core.busy_read and busy_poll).",
    )

    @field_validator("rate")
    @classmethod
    def _is_a_rate(cls, rate: str | None) -> str | None:
        """In the words of tc, where bits are meant and prefixes are decimal."""
        if rate is not None and not _RATE.fullmatch(rate):
            raise ValueError(f'{shown(rate)} is not a rate. Write it like "500mbit" or "2.5gbit"')
        return rate

    @field_validator("delay")
    @classmethod
    def _is_a_delay(cls, delay: str | None) -> str | None:
        if delay is not None and not _DELAY.fullmatch(delay):
            raise ValueError(f'{shown(delay)} is not a delay. Write it like "20ms" or "500us"')
        return delay

    @field_validator("loss")
    @classmethod
    def _is_a_share(cls, loss: str | None) -> str | None:
        if loss is not None and not _LOSS.fullmatch(loss):
            raise ValueError(f'{shown(loss)} is not a share of packets. Write it like "0.1%"')
        return loss

    @model_validator(mode="after")
    def _says_each_thing_once(self) -> Self:
        """What is set twice would not be seen in a report."""
        for name in ("rate", "delay", "loss"):
            if getattr(self, name) is not None and self.qdisc is not None:
                stands = "tbf" if name == "rate" else "netem"
                raise ValueError(
                    f"{name} is short for a qdisc ({stands}); set one of them, {name} or qdisc"
                )
        short = self._shorthands()
        for end in (self.sysctl.client, self.sysctl.server) if self.sysctl else ():
            if twice := short.keys() & end.keys():
                raise ValueError(
                    f"{min(twice)} is set twice: in sysctl, and by {short[min(twice)][0]}"
                )
        return self

    def tuned(self, profile: Profile, place: Place) -> tuple[Self, Profile, list[Outcome]]:
        """Parameters that each namespace has for itself, and features, are set at both ends.

        What the study sets itself goes before the profile.
        """
        spoken = {key for end in ENDS for key in self.sysctls_of(end)}
        values, profile, skipped = of_namespaces(profile, spoken, place)
        offloads, profile = of_devices(profile)
        own = self.sysctl or Ends(client={}, server={})
        changed: dict[str, object] = {
            "sysctl": Ends(client={**values, **own.client}, server={**values, **own.server})
        }
        if offloads:
            client, server = self.offloads_of("client"), self.offloads_of("server")
            changed["offloads"] = Ends(client={**offloads, **client}, server={**offloads, **server})
        taken = [Outcome(key, "set", f"{value} at both ends") for key, value in values.items()]
        taken += [
            Outcome(f"offload {key}", "set", f"{'on' if on else 'off'} at both ends")
            for key, on in offloads.items()
        ]
        return self.model_copy(update=changed), profile, [*taken, *skipped]

    @property
    def rate_bits(self) -> int | None:
        """The limit in bits per second."""
        match = _RATE.fullmatch(self.rate or "")
        return round(float(match[1]) * _PREFIXES[match[2]]) if match else None

    def offloads_of(self, end: End) -> dict[str, bool]:
        """Every feature that is set for an end."""
        given = self.offloads.of(end) if self.offloads else {}
        return {"gro": True, **given} if self.threaded else given

    def qdisc_of(self, end: End) -> tuple[str, ...]:
        """The words of the queueing discipline of an end; empty for the kernel's own."""
        if self.delay or self.loss:
            return self._netem()
        if bits := self.rate_bits:
            burst_bytes = max(_LEAST_BURST_BYTES, round(bits / 8 * _BURST_S))
            return ("tbf", "rate", f"{bits}bit", "burst", f"{burst_bytes}b", "latency", _LATENCY)
        text = self.qdisc.of(end) if self.qdisc else None
        return tuple(text.split()) if text else ()

    def _netem(self) -> tuple[str, ...]:
        """Delay, loss and rate in one discipline, whose queue is that of the path and 20 ms more.

        By default netem holds 1000 packets, and drops what a long path has under way.
        """
        match, bits = _DELAY.fullmatch(self.delay or "0ms"), self.rate_bits
        assert match
        way_us = float(match[1]) * _TO_US[match[2]] / 2
        held_bits = (bits or _FASTEST_BITS_S) * (way_us / 1e6 + _QUEUE_S)
        return (
            *("netem", "limit", str(max(1000, ceil(held_bits / 8 / self.mtu)))),
            *(("delay", f"{way_us:g}us") if way_us else ()),
            *(("loss", self.loss) if self.loss else ()),
            *(("rate", f"{bits}bit") if bits else ()),
        )

    def sysctls_of(self, end: End) -> dict[str, str]:
        """Every kernel parameter that is set for an end."""
        given = self.sysctl.of(end) if self.sysctl else {}
        return {**{key: value for key, (_, value) in self._shorthands().items()}, **given}

    def _shorthands(self) -> dict[str, tuple[str, str]]:
        """Kernel parameter → setting that stands for it, and its value."""
        short = {}
        if self.congestion_control is not None:
            short[CONGESTION_CONTROL] = ("congestion_control", self.congestion_control)
        if self.busy_poll is not None:
            short |= dict.fromkeys(BUSY_POLL, ("busy_poll", str(self.busy_poll)))
        return short
