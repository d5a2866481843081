"""Kind ``hosts``: the client on this host, the server on another one.

The agent there starts its own file as the server in each turn, and ends it with the turn, and also
when the connection to it is lost. What is measured does not pass through that.
"""

import re
import socket
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Literal, Self

from pydantic import Field, field_validator, model_validator

from tiltyard.address import OTHER, Address, HostName, SshOptions
from tiltyard.errors import TiltyardError
from tiltyard.host import sysctls
from tiltyard.host.facts import ABSENT
from tiltyard.host.place import HERE, Place
from tiltyard.host.steps import Step, Steps, TakeBack
from tiltyard.host.telemetry import watch_of
from tiltyard.study.problems import shown
from tiltyard.systems import untrusted_inputs
from tiltyard.systems.booting import boot, boot_problems
from tiltyard.systems.ends import both
from tiltyard.systems.kind import Kind, Problem, Profiles, ServerEnd, Site, System, Up
from tiltyard.systems.other_host import problems_of
from tiltyard.systems.parameters import CONGESTION_CONTROL, TELLING
from tiltyard.systems.placement import (
    PlacedSettings,
    brings,
    cpu_problems,
    on_cpus,
    placement_facts,
    redraws,
)
from tiltyard.systems.serving import end_of, serve, served
from tiltyard.systems.untrusted_inputs import Brought

_PORTS = re.compile(r"([0-9]+)-([0-9]+)")
_CLIENT_DEVICE = "device of the client"
_SERVER_DEVICE = "device of the server"


class HostsSettings(PlacedSettings):
    """Where the server is, and how it is reached."""

    server: HostName = Field(description=OTHER)
    address: str | None = Field(
        default=None,
        description="Name or address at which the server listens; that of ssh if left out.",
    )
    ssh_options: SshOptions = ()
    port: int = Field(
        default=0, ge=0, le=65535, description="Port of the server; 0: one that is free."
    )
    server_tuning: Profiles = Field(
        (),
        description="Tuning profiles of the server's host, as those of the client's in tuning; of "
        "its devices, that of the address at which the server listens.",
    )
    data_ports: str | None = Field(
        default=None, description='Ports for the data, where a firewall asks: "20000-20099".'
    )

    reboots: Literal["server", "client", "both"] = Field(
        "server",
        description='Which hosts reset = "reboot" boots before each turn, by reboot_command: that '
        "of the server, this one, or both.",
    )

    @model_validator(mode="after")
    def _are_booted(self) -> Self:
        """Nothing is booted that reset does not ask for."""
        if self.reset != "reboot" and self.reboots != "server":
            raise ValueError(f'reboots = "{self.reboots}" goes with reset = "reboot"')
        return self

    @property
    def of_server(self) -> Address:
        """The server's host."""
        return Address(self.server, self.ssh_options)

    @property
    def boots_server(self) -> bool:
        """Whether the server's host is booted before each turn."""
        return self.reset == "reboot" and self.reboots != "client"

    @field_validator("data_ports")
    @classmethod
    def _is_a_range(cls, ports: str | None) -> str | None:
        """First and last."""
        match = _PORTS.fullmatch(ports) if ports is not None else None
        if ports is not None and not (match and 0 < int(match[1]) <= int(match[2]) < 65536):
            raise ValueError(f'{shown(ports)} is not a range of ports, such as "20000-20099"')
        return ports


class Hosts(System):
    """This host and another one."""

    far: Place

    def __init__(self, name: str, settings: HostsSettings, site: Site) -> None:
        """Nothing is touched yet."""
        del name
        self._settings = settings
        self._site = site
        self.far = Place(settings.of_server)
        self.steps = Steps(site.ledger, site.check, place=self.far)

    def problems(self) -> list[Problem]:
        """No way in, or a host that cannot run this engine."""
        if problems := problems_of(self.far):
            return problems
        try:
            _resolved(self._name())
        except TiltyardError as error:
            return [Problem("error", str(error), "address = an address of the server's host")]
        return [*self._problems_of_boot(), *cpu_problems(*self._settings.client_cpus)]

    def _problems_of_boot(self) -> list[Problem]:
        if not self._settings.boots_server:
            return []
        return boot_problems(self.far, self._settings.reboot_command)

    def boot(self) -> Mapping[str, str]:
        """Boot the server's host, if the study asks for it."""
        if not self._settings.boots_server:
            return {}
        said = boot(self.far, self._site, self._settings.reboot_command)
        return {"host of the server booted before the turn": said}

    def far_interfaces(self) -> tuple[str, ...]:
        """The device that has the address of the server, if one of that host has it."""
        place = self.far
        ask = ("ip", "-o", "addr", "show", "to", _resolved(self._name()))
        found = place.ask(lambda host: host.read(outputs=[ask]))
        told = "".join(one.stdout for one in found.outputs)
        with place.understood():
            # 2: eth0    inet 10.0.0.2/24 …
            return tuple(dict.fromkeys(line.split()[1] for line in told.splitlines()))

    def steps_up(self) -> Iterator[Step]:
        """Start the engine there."""
        yield TakeBack()  # What could not be taken down because the host was not reached.
        settings = self._settings
        self._address = _resolved(self._name())
        end = ServerEnd(self._address, prefix=on_cpus(settings.server_cpus))
        self._server = serve(self._site, end, port=settings.port, data_ports=settings.data_ports)
        yield self._server

    def look(self) -> Up:
        """The server, and what both kernels say."""
        known = served(self.steps, self._server)
        facts = self._facts(self._address, known.engine)
        return Up(
            target=end_of(known, self._address),
            commands=self.steps.executed,
            facts=facts,
            far=self.far,
            cpus=self._settings.client_cpus,
            interfaces=tuple(filter(None, (facts.get(_CLIENT_DEVICE),))),
            watch_far=watch_of(self.far, {"servers": [known.keeper]}, self._settings.server_cpus),
        )

    def _facts(self, address: str, engine: str) -> dict[str, str]:
        """What both kernels say."""
        told = (CONGESTION_CONTROL, *TELLING)
        paths = {str(sysctls.path_of(key)): key for key in told}
        # What that kernel does not have is left out.
        place, asked = self.far, (("uname", "-srm"), ("nproc",))
        found = place.ask(lambda host: host.read(files=paths, outputs=asked))
        with place.understood():
            kernel, cpus = (one.stdout.strip() for one in found.outputs)
            values = ((paths[path], text.strip()) for path, text in found.files.items())
            there = {key: sysctls.normal(value) for key, value in values}
        return {
            "path": f"network between this host and {address}",
            **_way_to(address),
            "host of the server": f"{kernel}, {cpus} CPUs",
            **{
                key: both({"client": sysctls.shown(key), "server": there.get(key, ABSENT)})
                for key in told
            },
            **({_SERVER_DEVICE: " ".join(devices)} if (devices := self.far_interfaces()) else {}),
            **placement_facts(self._settings),
            "engine of the server": engine,
        }

    def _name(self) -> str:
        """The name or address at which the server shall listen."""
        if self._settings.address is not None:
            return self._settings.address
        server = self._settings.of_server
        return server.name_in(HERE.run(server.lookup).stdout)


def _resolved(name: str) -> str:
    """The address of a name: both ends must mean the same one.

    Raises:
        TiltyardError: if it has none.
    """
    try:
        return str(socket.getaddrinfo(name, None, type=socket.SOCK_STREAM)[0][4][0])
    except OSError as error:
        raise TiltyardError(f"{name}: {error.strerror}") from None


def _way_to(address: str) -> dict[str, str]:
    """The device of this host that leads to an address, as far as that is known."""
    if not HERE.has("ip"):
        return {}
    (route,) = HERE.run(("ip", "-j", "route", "get", address)).json
    with HERE.understood():
        device = str(route["dev"])
    return {_CLIENT_DEVICE: device, "MTU": HERE.read(f"/sys/class/net/{device}/mtu") or ABSENT}


def _brings(settings: HostsSettings, root: Path) -> Iterator[Brought]:
    """The way there, and what boots the host there."""
    yield from untrusted_inputs.way("server", settings.of_server)
    yield from brings(settings, root)


KIND = Kind(
    name="hosts",
    about="this host and another one that ssh reaches",
    Settings=HostsSettings,
    target="far",
    placed=False,
    far_host=True,
    open=Hosts,
    redraws=lambda settings: redraws(settings, "fresh connections"),
    programs=lambda _: (
        "its server is on another host, where no server of a program is started. Fix: start it "
        'there, take kind = "host", and name its address in the command'
    ),
    brings=_brings,
)
