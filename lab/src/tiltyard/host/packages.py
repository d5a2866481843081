"""External programs: which one command installs one that a host has not?"""

from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Final

from tiltyard.host.place import Place

_INSTALL: Final = {
    "apt-get": "apt-get install -y --no-install-recommends",
    "dnf": "dnf install -y",
    "zypper": "zypper install -y",
    "pacman": "pacman -S --noconfirm",
}


@dataclass(frozen=True)
class Tool:
    """A program that is started by name, and the package that holds it.

    The distributions that Tiltyard names agree on the packages it needs (``xfsprogs`` …).
    """

    command: str
    package: str
    version: tuple[str, ...]
    """Options that make it print its version."""
    without: str = "this file system cannot be made"
    """What follows if it is missing."""


def install_command(place: Place, *packages: str) -> str:
    """The one command that installs packages with the package manager that is there."""
    names = " ".join(dict.fromkeys(packages))
    there = place.ask(lambda host: host.read(programs=_INSTALL)).programs
    manager = next((name for name in _INSTALL if name in there), None)
    return f"{_INSTALL[manager]} {names}" if manager else f"install the package {names}"


def load_command(place: Place, module: str) -> str:
    """What brings a part of the kernel that is not there: a module, if that kernel has modules."""
    release = place.ask(lambda host: host.release)
    if place.is_directory(PurePosixPath("/lib/modules", release)):
        return f"modprobe {module}"
    return f"a kernel with {module}: this one has no modules"
