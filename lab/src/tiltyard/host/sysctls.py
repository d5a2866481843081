"""Kernel parameters, sysctl(8): which there are, which a network namespace has for itself."""

import functools
from pathlib import Path

from tiltyard.host import commands
from tiltyard.host.facts import ABSENT

_ROOT = Path("/proc/sys")


def path_of(key: str) -> Path:
    """The file of a key such as ``net.core.rmem_max``; ``/`` in a name stands for a dot."""
    return _ROOT.joinpath(*_steps(key))


def is_key(text: str) -> bool:
    """Whether a text can name a parameter, and no file outside of them."""
    return all(step.strip(".") for step in _steps(text))


def _steps(key: str) -> list[str]:
    """As sysctl(8) has it, for the names of devices: ``net.ipv4.conf.eth0/100.forwarding``."""
    return [step.replace("/", ".") for step in key.split(".")]


def normal(value: str) -> str:
    """A value as it is compared: the kernel puts tabs between numbers."""
    return " ".join(value.split())


def read(key: str) -> str:
    """The value of a key in the namespace of this process.

    Raises:
        OSError: if there is no such key.
    """
    return normal(path_of(key).read_text())


def shown(key: str) -> str:
    """The value of a key as a fact."""
    return read(key) if path_of(key).exists() else ABSENT


def settable() -> frozenset[str]:
    """Keys of the network that root may write on this host."""
    files = (path for path in (_ROOT / "net").rglob("*") if path.is_file())
    writable = (path for path in files if path.stat().st_mode & 0o222)
    return frozenset(".".join(path.relative_to(_ROOT).parts) for path in writable)


@functools.cache
def of_a_namespace() -> frozenset[str]:
    """Keys that every network namespace has for itself; all others hold for the whole host.

    Asked of the kernel in a namespace that is gone when the question is answered: a key that is
    not the namespace's own is either missing there or cannot be written.
    """
    find = ("find", "/proc/sys/net", "-type", "f", "-perm", "/222", "-printf", "%P\\n")
    listed = commands.run(("unshare", "--net", *find)).stdout.splitlines()
    return frozenset(f"net.{line.replace('/', '.')}" for line in listed)
