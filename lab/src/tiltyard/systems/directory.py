"""Kind ``directory``: a directory that is already there, on whatever is mounted under it.

Needs no root. Nothing is formatted or mounted, so what is compared is the directories as they are
now, with their history; each turn works in a new subdirectory that is removed afterwards.

Where root works in a directory that is another user's, he could exchange the subdirectory at any
moment. So it is mounted in the scratch folder for the turn, and reached there.

Kind ``remote`` is the same on another host; nothing that is timed passes through what reaches it.
"""

import secrets
import shlex
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from pydantic import Field

from tiltyard.address import OTHER, HostName, Reached
from tiltyard.errors import RefusedError
from tiltyard.folder import sha256
from tiltyard.host.op import MakeDirectory, Mount
from tiltyard.host.place import HERE, MOUNTS, Place
from tiltyard.host.steps import Step, Steps, TakeBack, UndoTemporarily
from tiltyard.ownership import expanded, led_to, stranger_above
from tiltyard.systems import untrusted_inputs
from tiltyard.systems.kind import Kind, Problem, Site, System, Up
from tiltyard.systems.service.settings import ServiceableSettings
from tiltyard.units import format_size

_WANTED_BYTES = 2**28
_INODE: Final = "{inode}"
"""Output: of the subdirectory, in a directory of another user."""


class DirectorySettings(ServiceableSettings):
    """Which directory."""

    directory: Path = Field(
        description="An existing directory; a relative path begins at the study file."
    )


class RemoteSettings(Reached, ServiceableSettings):
    """Which directory, on which host."""

    host: HostName = Field(description=OTHER)
    directory: str = Field(
        description="An existing directory there; a relative path begins at the user's home.",
        pattern=r"^[^-\n][^\n]*$",
    )


class Directory(System):
    """A subdirectory of a given directory of this host."""

    def __init__(self, name: str, settings: DirectorySettings, site: Site) -> None:  # noqa: ARG002
        """Nothing is touched yet."""
        self._asked = (site.root / expanded(settings.directory)).absolute()
        self._given = self._asked.resolve()
        self._made = self._path = self._given / site.ledger.name("trials")
        self._stranger = stranger_above(self._given)
        if self._stranger:
            slug = sha256(bytes(self._given))[:8]
            self._path = site.work.resolve() / site.ledger.name(f"trials-{slug}")
        self._ledger = site.ledger
        self.steps = Steps(site.ledger, site.check)

    def problems(self) -> list[Problem]:
        """Missing, not a directory, not writable, or nearly full."""
        given = self._given
        if not HERE.is_directory(given):
            what = "is not a directory" if HERE.find_all([str(given)]) else "does not exist"
            return [Problem("error", f"{given} {what}", f"mkdir -p {given}")]
        try:
            if led_to(self._asked) != given:
                return [Problem("error", f"{self._asked} does not lead to {given} any more")]
        except RefusedError as error:
            return [Problem("error", str(error))]
        if "ro" in HERE.mount_of(given).options.split(","):
            return [Problem("error", f"{given} is on a file system that is mounted read-only")]
        if not all(HERE.passes(("-w", str(given)), ("-x", str(given)))):
            return [Problem("error", f"{given} is not writable for you", f"ls -ld {given}")]
        return _room_in(given, HERE)

    def steps_up(self) -> Iterable[Step]:
        """Make the subdirectory; the ledger has it from the first turn to the end of the run."""
        if self._stranger:
            yield MakeDirectory(path=self._made, apart=True, output=_INODE)
            yield MakeDirectory(path=self._path)
            yield Mount(
                type="",
                source=str(self._made),
                target=self._path,
                options=("bind",),
                inode=_INODE,
                why=self._stranger,
            )
            return
        made = MakeDirectory(path=self._path, lasts="run")
        if self._ledger.holds(made.made()):
            # A runbook leaves it until the end of the run: another system's turn begins without it.
            yield UndoTemporarily(change=made.made())
            yield made.model_copy(update={"inside": True, "lasts": "turn"})
        else:
            yield made

    def steps_down(self) -> Iterable[Step]:
        """It goes with all that is in it."""
        if self._stranger:
            return (TakeBack(),)
        return TakeBack(), UndoTemporarily(change=MakeDirectory(path=self._path).made())

    def look(self) -> Up:
        """The subdirectory, and what is mounted under it."""
        apart = {"worked in": "through a mount of its own, as others could exchange its path"}
        facts = _facts(self._given, HERE) | (apart if self._stranger else {})
        return Up(target=self._path, commands=(), facts=facts)


class DirectoryThere(System):
    """The same on another host."""

    def __init__(self, directory: str, site: Site) -> None:
        """Nothing is touched yet."""
        self._directory = directory
        self._site = site
        self.steps = Steps(site.ledger, site.check, site.note, site.place)
        self.place = site.place

    def problems(self) -> list[Problem]:
        """Missing, not a directory, not writable, or nearly full."""
        given = str(self._asked)
        if (path := self._found(given)) is None:
            return [self._problem(f"{given} does not exist")]
        is_directory, is_writable = self.place.passes(("-d", given), ("-w", given))
        if not is_directory:
            return [self._problem(f"{given} is not a directory")]
        if not is_writable:
            return [self._problem(f"{given} is not writable for you, or is mounted read-only")]
        return _room_in(path, self.place)

    def _problem(self, text: str) -> Problem:
        return Problem(
            "error", text, shlex.join(self.place.address.argv(("ls", "-ld", self._directory)))
        )

    def _found(self, path: str) -> Path | None:
        """Where it really is."""
        found = self.place.find_all([path]).get(path)
        return Path(found) if found else None

    @property
    def _asked(self) -> Path:
        return self._site.given(Path(self._directory))

    def steps_up(self) -> Iterable[Step]:
        """Make the subdirectory."""
        yield TakeBack()  # What could not be taken down because the host was not reached.
        asked = self._asked
        self._given = self._found(str(asked)) or asked
        # A name of its own, also beside what another system could not take down on that host.
        self._path = self._given / self._site.ledger.name(f"trials-{secrets.token_hex(3)}")
        yield MakeDirectory(path=self._path, private=True)

    def look(self) -> Up:
        """The subdirectory, and what is mounted under it."""
        with self.place.looking(files=(MOUNTS,), space=(str(self._given),)):
            facts = _facts(self._given, self.place)
        return Up(target=self._path, commands=(), facts=facts, place=self.place)


def open_directory(name: str, settings: DirectorySettings, site: Site) -> System:
    """The directory on this host, or on that of a placement."""
    if site.place.is_remote:
        return DirectoryThere(str(settings.directory), site)
    return Directory(name, settings, site)


def _open_remote(name: str, settings: RemoteSettings, site: Site) -> System:
    del name
    return DirectoryThere(settings.directory, site)


def _room_in(path: Path, place: Place) -> list[Problem]:
    """What is too little."""
    free_bytes = place.space(path).free_bytes
    if free_bytes >= _WANTED_BYTES:
        return []
    return [Problem("warning", f"{path} has only {format_size(free_bytes)} free")]


def _facts(path: Path, place: Place) -> dict[str, str]:
    """What the kernel says of the file system under a directory."""
    mount, space = place.mount_of(path), place.space(path)
    return {
        "file system": mount.type,
        "mount options": mount.options,
        "device": mount.source,
        "mounted on": str(mount.target),
        "block size": format_size(space.block_bytes),
        "size": format_size(space.size_bytes),
        "free": format_size(space.free_bytes),
    }


KIND = Kind(
    name="directory",
    about="an existing directory, as it is; needs no root",
    Settings=DirectorySettings,
    target="directory",
    open=open_directory,
    redraws=lambda _: "a new subdirectory",
)
REMOTE = Kind(
    name="remote",
    about="a directory on another host that ssh reaches; the engine is sent there for the run",
    Settings=RemoteSettings,
    target="directory",
    open=_open_remote,
    elsewhere=True,
    placed=False,
    redraws=lambda _: "a new subdirectory",
    brings=lambda settings, _: untrusted_inputs.way("host", settings.address),
)
