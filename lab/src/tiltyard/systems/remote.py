"""Kind ``remote``: a directory on another host that ssh reaches, on whatever is mounted there.

For the run the engine is copied there; it runs there as a runner behind one connection of ssh,
takes its jobs through it and streams back what it finds. It stops when the connection ends,
whichever way, and nothing of it stays. Nothing that is timed passes through ssh.
"""

import secrets
import shlex
from collections.abc import Iterator
from pathlib import Path

from pydantic import Field

from tiltyard.errors import TiltyardError
from tiltyard.host import commands
from tiltyard.host.facts import facts_of_another
from tiltyard.host.mounts import mount_over, parse_mounts
from tiltyard.host.place import Place
from tiltyard.host.steps import Step, Steps, TakeBack
from tiltyard.host.telemetry import FarWatch
from tiltyard.study.model import HostName
from tiltyard.systems import brought
from tiltyard.systems.kind import Kind, Problem, Site, System, Up
from tiltyard.systems.other_host import OtherHost, engine_in
from tiltyard.systems.service.settings import ServiceableSettings
from tiltyard.units import format_size

_UNSEEN = "traffic of the disk"


class RemoteSettings(ServiceableSettings):
    """Which directory, on which host."""

    host: HostName = Field(description='The other host as ssh knows it: "user@host".')
    ssh_options: tuple[str, ...] = Field(
        default=(), description='Options for ssh, one word each: ["-p", "2222"].'
    )
    directory: str = Field(
        description="An existing directory there; a relative path begins at the user's home.",
        pattern=r"^[^-\n][^\n]*$",
    )


class Remote(System):
    """A subdirectory of a given directory on another host."""

    def __init__(self, name: str, settings: RemoteSettings, site: Site) -> None:
        """Nothing is touched yet."""
        del name
        self._settings = settings
        self._ledger = site.ledger
        self.steps = Steps(site.ledger, site.check)
        over_ssh = Place.over_ssh(settings.host, settings.ssh_options)
        self._there = OtherHost(site.place if site.place.ssh else over_ssh)
        self.place = self._there.place

    def problems(self) -> list[Problem]:
        """No way in, another sort of host, or a directory that trials cannot work in."""
        if problems := self._there.problems():
            return problems
        given, host = shlex.quote(self._settings.directory), self._settings.host
        looked = (
            f"if ! test -e {given}; then echo does not exist; elif ! test -d {given}; "
            f"then echo is not a directory; elif ! test -w {given}; "
            "then echo is not writable for you, or is mounted read-only; fi"
        )
        try:
            found = commands.shown(self.place.run(("sh", "-c", looked)).stdout)
        except TiltyardError as error:
            return [Problem("error", str(error))]
        if found:
            remedy = shlex.join(self.place.argv(("ls", "-ld", self._settings.directory)))
            return [Problem("error", f"{host}:{self._settings.directory} {found}", remedy)]
        return []

    def steps_up(self) -> Iterator[Step]:
        """Make the subdirectory, and have the engine there."""
        yield TakeBack()  # What could not be taken down because the host was not reached.
        given, self._facts = self._look()
        # A name of its own, also beside what another system could not take down on that host.
        turn = secrets.token_hex(3)
        self._target = given / self._ledger.name(f"trials-{turn}")
        directory = self._ledger.name(f"engine-{turn}")
        self._engine = engine_in(directory)
        yield from self._there.engine_steps(self._ledger, directory, beside=str(self._target))

    def look(self) -> Up:
        """The subdirectory, and what was seen before it was made."""
        return Up(
            target=self._target,
            commands=self.steps.executed,
            facts=self._facts,
            engine=self._there.argv(self._engine),
            place=self.place,
            watch=lambda: FarWatch(self.place, {"programs": [self._engine]}),
        )

    def _look(self) -> tuple[Path, dict[str, str]]:
        """The directory's own path there, and what the kernel says of it and of the host."""
        look = (
            f"cd {shlex.quote(self._settings.directory)} && pwd -P && "
            "stat -f -c '%s %S %b %a' . && cat /proc/self/mountinfo"
        )
        said = self.place.run(("sh", "-c", look)).stdout
        with self.place.understood():
            path, room, *mounts = said.splitlines()
            best_bytes, unit_bytes, units, free_units = map(int, room.split())
            mount = mount_over(parse_mounts("\n".join(mounts)), Path(path))
            assert mount is not None, "there is always a root"
        return Path(path), {
            "host": self._settings.host,
            "file system": mount.type,
            "mount options": mount.options,
            "device": mount.source,
            "mounted on": str(mount.target),
            "block size": format_size(best_bytes),
            "size": format_size(units * unit_bytes),
            "free": format_size(free_units * unit_bytes),
            **facts_of_another(self.place),
            "not watched there": _UNSEEN,
        }


KIND = Kind(
    name="remote",
    about="a directory on another host that ssh reaches; the engine is copied there for the run",
    Settings=RemoteSettings,
    target="directory",
    open=Remote,
    elsewhere=True,
    placed=False,
    by_shell=True,
    there="directory",
    redraws=lambda _: "a new subdirectory",
    brings=lambda settings, _: brought.ssh("host", settings.host, settings.ssh_options),
)
