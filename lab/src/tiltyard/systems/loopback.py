"""Kind ``loopback``: both ends on this host, joined by its loopback device.

Needs no root as long as no kernel parameter is set. What is measured is copying and waking on one
host: there is no device, no driver and no queue on the path.
"""

from collections.abc import Iterator
from typing import Literal, Self

from pydantic import Field, model_validator

from tiltyard.executors.engine import FarPlace
from tiltyard.host import sysctls
from tiltyard.host.facts import ABSENT
from tiltyard.host.steps import Step, Steps
from tiltyard.systems.ends import HostSysctls
from tiltyard.systems.kind import Kind, Problem, ReachableSettings, ServerEnd, Site, System, Up
from tiltyard.systems.parameters import (
    CONGESTION_CONTROL,
    TELLING,
    parameter_problems,
    set_on_host,
)
from tiltyard.systems.placement import (
    PlacedSettings,
    brings,
    cpu_problems,
    on_cpus,
    placement_facts,
    redraws,
)
from tiltyard.systems.service.settings import ServedSettings
from tiltyard.systems.serving import end_of, serve, served

_ADDRESSES = {"ipv4": "127.0.0.1", "ipv6": "::1"}
_MTU = "/sys/class/net/lo/mtu"


class LoopbackSettings(PlacedSettings, ServedSettings, ReachableSettings):
    """What can be set of a host's loopback."""

    family: Literal["ipv4", "ipv6"] = Field(
        default="ipv4", description="Which Internet Protocol the two ends speak."
    )
    congestion_control: str | None = Field(
        default=None, description="Congestion control of TCP; the host's if it is left out."
    )
    sysctl: HostSysctls = Field(
        default={},
        description='Kernel parameters of the network: { "net.core.somaxconn" = 4096 }. They are '
        "set on the whole host, and put back.",
    )

    @model_validator(mode="after")
    def _says_each_thing_once(self) -> Self:
        """What is set twice would not be seen in a report."""
        if self.congestion_control is not None and CONGESTION_CONTROL in self.sysctl:
            raise ValueError(
                f"{CONGESTION_CONTROL} is set twice: in sysctl, and by congestion_control"
            )
        return self

    @property
    def sysctls(self) -> dict[str, str]:
        """Every kernel parameter that is set."""
        chosen = self.congestion_control
        return {**({CONGESTION_CONTROL: chosen} if chosen else {}), **self.sysctl}


class Loopback(System):
    """Two ends that share a host."""

    def __init__(self, name: str, settings: LoopbackSettings, site: Site) -> None:
        """Nothing is touched yet."""
        del name
        self._settings = settings
        self.steps = Steps(site.ledger, site.check, site.note, site.place)
        self.place = site.place
        self._site = site
        self._address = _ADDRESSES[settings.family]
        self.server_end = ServerEnd(self._address, prefix=on_cpus(settings.server_cpus))

    def problems(self) -> list[Problem]:
        """Parameters that the kernel would not take, CPUs that are not there."""
        settings = self._settings
        return [
            *parameter_problems(settings.sysctls, self.place),
            *cpu_problems(*settings.client_cpus, *settings.server_cpus, place=self.place),
        ]

    def steps_up(self) -> Iterator[Step]:
        """Set the parameters, start the server."""
        yield from set_on_host(self._settings.sysctls, self.place)
        self._server = serve(self._site, self.server_end)
        yield self._server

    def look(self) -> Up:
        """The server, and what the kernel says."""
        known = served(self.steps, self._server)
        return Up(
            target=end_of(known, self._address),
            commands=self.steps.executed,
            facts=self._facts(known.engine),
            cpus=self._settings.client_cpus,
            interfaces=("lo",),
            far_place=FarPlace(address=self._address, cpus=self._settings.server_cpus),
        )

    def _facts(self, engine: str) -> dict[str, str]:
        """What the kernel says of the loopback and of the host's parameters."""
        settings = self._settings
        told = dict.fromkeys((CONGESTION_CONTROL, *TELLING, *settings.sysctl))
        with self.place.looking(files=(_MTU, *(str(sysctls.path_of(key)) for key in told))):
            values = {key: sysctls.shown(key, self.place) for key in told}
            mtu = self.place.read(_MTU) or ABSENT
        return {
            "path": "loopback of this host",
            "Internet Protocol": {"ipv4": "IPv4", "ipv6": "IPv6"}[settings.family],
            "MTU": mtu,
            "congestion control": values.pop(CONGESTION_CONTROL),
            **values,
            **placement_facts(settings),
            "engine of the server": engine,
        }


KIND = Kind(
    name="loopback",
    about="both ends on this host, joined by its loopback device; needs no root",
    Settings=LoopbackSettings,
    target="far",
    open=Loopback,
    redraws=lambda settings: redraws(settings, "fresh connections"),
    brings=brings,
)
