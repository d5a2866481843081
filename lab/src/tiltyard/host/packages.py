"""External programs: is one here, and which one command installs it?"""

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

_KNOWN = Path("/proc/filesystems")
_MODULES = Path("/lib/modules")


def knows_filesystem(name: str) -> bool:
    """Whether a driver is there, or is a module that the kernel loads when it is needed.

    Source: proc(5); modules.dep(5).
    """
    if name in _KNOWN.read_text().split():
        return True
    listed = _MODULES / os.uname().release / "modules.dep"
    try:
        files = (line.partition(":")[0] for line in listed.read_text().splitlines())
    except OSError:
        return False
    return any(Path(file).name.partition(".ko")[0].replace("_", "-") == name for file in files)


_INSTALL = {
    "apt-get": "apt-get install -y --no-install-recommends",
    "dnf": "dnf install -y",
    "zypper": "zypper install -y",
    "pacman": "pacman -S --noconfirm",
}
_ADMIN_DIRECTORIES = "/usr/local/sbin:/usr/sbin:/sbin"


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


def find_program(command: str) -> str | None:
    """Path of a program, also where administration tools live but ``PATH`` does not look."""
    return shutil.which(command) or shutil.which(command, path=_ADMIN_DIRECTORIES)


def install_command(*packages: str) -> str:
    """The one command that installs packages with the package manager that is here."""
    names = " ".join(dict.fromkeys(packages))
    manager = next((name for name in _INSTALL if shutil.which(name)), None)
    return f"{_INSTALL[manager]} {names}" if manager else f"install the package {names}"


def load_command(module: str) -> str:
    """What brings a part of the kernel that is not there: a module, if this kernel has modules."""
    if Path("/lib/modules", os.uname().release).is_dir():
        return f"modprobe {module}"
    return f"a kernel with {module}: this one has no modules"
