"""Kernel parameters, sysctl(8): which there are, which a network namespace has for itself."""

import functools
from pathlib import Path

from tiltyard.errors import HostLacksError
from tiltyard.host.facts import ABSENT
from tiltyard.host.place import HERE, Place

_ROOT = Path("/proc/sys")
_FIND = ("find", f"{_ROOT}/net", "-type", "f", "-perm", "-0200")
"""That of BusyBox knows no other words for it."""


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


def read(key: str, place: Place = HERE) -> str:
    """The value of a key in the namespace of who reads it there.

    Raises:
        HostLacksError: if there is no such key.
    """
    if (text := place.read(path_of(key))) is None:
        raise HostLacksError(f"there is no {key} on {place}")
    return normal(text)


def shown(key: str, place: Place = HERE) -> str:
    """The value of a key as a fact."""
    text = place.read(path_of(key))
    return ABSENT if text is None else normal(text)


def is_there(key: str, place: Place = HERE) -> bool:
    """Whether there is such a key, whoever may read it."""
    path = str(path_of(key))
    found = place.find_all([path, f"{path}/"])
    return path in found and f"{path}/" not in found


def beside(key: str, place: Place = HERE) -> list[str]:
    """Names of those that stand beside a key; empty where nothing is."""
    above = path_of(key).parent
    found = place.ask(lambda host: host.read(links=[f"{above}/*", f"{above}/*/"])).links
    return sorted(Path(path).name for path in found if f"{path.rstrip('/')}/" not in found)


def tables(place: Place = HERE) -> list[str]:
    """First names of keys, such as ``vm`` and ``net``."""
    return [Path(path).name for path in place.find(f"{_ROOT}/*/")]


def settable(place: Place = HERE) -> frozenset[str]:
    """Keys of the network that root may write."""
    return _listed(place.run(_FIND).stdout)


@functools.cache
def of_a_namespace(place: Place = HERE) -> frozenset[str]:
    """Keys that every network namespace has for itself; all others hold for the whole host.

    Asked of the kernel in a namespace that is gone when the question is answered: a key that is
    not the namespace's own is either missing there or cannot be written.
    """
    return _listed(place.run(("unshare", "--net", *_FIND)).stdout)


def _listed(found: str) -> frozenset[str]:
    below = (line.removeprefix(f"{_ROOT}/") for line in found.splitlines())
    return frozenset(path.replace("/", ".") for path in below)
