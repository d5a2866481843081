"""Kind ``directory``: a directory that is already there, on whatever is mounted under it.

Needs no root. Nothing is formatted or mounted, so what is compared is the directories as they are
now, with their history; each turn works in a new subdirectory that is removed afterwards.
"""

import os
from collections.abc import Iterable
from pathlib import Path

from pydantic import Field

from tiltyard.host.changes import MadeDirectory
from tiltyard.host.mounts import mount_of
from tiltyard.host.steps import MakeDirectory, Step, Steps, TakeBack, UndoTemporarily
from tiltyard.ownership import expanded
from tiltyard.systems.kind import Kind, Problem, Site, System, Up
from tiltyard.systems.remote import Remote, RemoteSettings
from tiltyard.systems.service.settings import ServiceableSettings
from tiltyard.units import format_size

_WANTED_BYTES = 2**28


class DirectorySettings(ServiceableSettings):
    """Which directory."""

    directory: Path = Field(
        description="An existing directory; a relative path begins at the study file."
    )


class Directory(System):
    """A subdirectory of a given directory."""

    def __init__(self, name: str, settings: DirectorySettings, site: Site) -> None:  # noqa: ARG002
        """Nothing is touched yet."""
        self._given = (site.root / expanded(settings.directory)).resolve()
        self._path = self._given / site.ledger.name("trials")
        self._ledger = site.ledger
        self.steps = Steps(site.ledger, site.check)

    def problems(self) -> list[Problem]:
        """Missing, not a directory, not writable, or nearly full."""
        given = self._given
        if not given.is_dir():
            what = "is not a directory" if given.exists() else "does not exist"
            return [Problem("error", f"{given} {what}", f"mkdir -p {given}")]
        if os.statvfs(given).f_flag & os.ST_RDONLY:
            return [Problem("error", f"{given} is on a file system that is mounted read-only")]
        if not os.access(given, os.W_OK | os.X_OK):
            return [Problem("error", f"{given} is not writable for you", f"ls -ld {given}")]
        free_bytes = _free_bytes(given)
        if free_bytes < _WANTED_BYTES:
            return [Problem("warning", f"{given} has only {format_size(free_bytes)} free")]
        return []

    def steps_up(self) -> Iterable[Step]:
        """Make the subdirectory; the ledger has it from the first turn to the end of the run."""
        made = MadeDirectory(path=self._path)
        held = self._ledger.holds(made)
        # A runbook leaves it until the end of the run: another system's turn begins without it.
        if held or self._path.exists():
            yield UndoTemporarily(change=made)
        if held:
            yield MakeDirectory(path=self._path, inside=True)
        else:
            yield MakeDirectory(path=self._path, lasts="run")

    def steps_down(self) -> Iterable[Step]:
        """It goes with all that is in it."""
        return TakeBack(), UndoTemporarily(change=MadeDirectory(path=self._path))

    def look(self) -> Up:
        """The subdirectory, and what is mounted under it."""
        return Up(target=self._path, commands=(), facts=_facts(self._given))


def open_directory(name: str, settings: DirectorySettings, site: Site) -> System:
    """The directory on this host, or on that of a placement."""
    if not site.place.ssh:
        return Directory(name, settings, site)
    there = RemoteSettings(host=str(site.place), directory=str(settings.directory))
    return Remote(name, there, site)


def _free_bytes(path: Path) -> int:
    """Bytes that an ordinary user may still write."""
    status = os.statvfs(path)
    return status.f_bavail * status.f_frsize


def _facts(path: Path) -> dict[str, str]:
    """What the kernel says of the file system under a directory."""
    mount = mount_of(path)
    status = os.statvfs(path)
    return {
        "file system": mount.type,
        "mount options": mount.options,
        "device": mount.source,
        "mounted on": str(mount.target),
        "block size": format_size(status.f_bsize),
        "size": format_size(status.f_blocks * status.f_frsize),
        "free": format_size(_free_bytes(path)),
    }


KIND = Kind(
    name="directory",
    about="an existing directory, as it is; needs no root",
    Settings=DirectorySettings,
    target="directory",
    open=open_directory,
    redraws=lambda _: "a new subdirectory",
    by_shell=True,
)
