"""What differs between systems, and whether the study asked for it.

A study varies settings; much else follows from them, and need not be told again. What does not
follow is what a sceptic asks about, and some of it decides results by itself: that comes first.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from tiltyard.frozen import Frozen
from tiltyard.host.place import HERE
from tiltyard.run.record import DISK_UNDER_TEST
from tiltyard.study.model import SystemSpec
from tiltyard.units import SIZE_UNITS

ABSENT: Final = "–"
"""Stands where a system has no such fact."""
NOT_IN_FORCE: Final = "mount options that were asked for and are not listed"
_OPTIONS: Final = "mount options"
_TYPE: Final = "file system"
_HOST: Final = "host"
_KERNEL: Final = "kernel"
_SPACE: Final = frozenset({"size", "free"})
_ALIKE: Final = 1.25
"""Sizes of other file systems on the same device: their own metadata take that much at most."""

_GEOMETRY: Final = frozenset(
    {
        "features", "inode size", "inodes", "blocks", "reserved blocks", "blocks of a group",
        "groups put together", "journal", "meta-data", "data", "naming", "log", "realtime",
        "checksums", "node size", "sector size", "devices", "geometry",
    }
)  # fmt: skip
_FOLLOWS: Final[Mapping[str, frozenset[str]]] = {
    "filesystem": frozenset({_TYPE, "mkfs"}) | _GEOMETRY,
    "mkfs": _GEOMETRY | _SPACE | {"block size"},
    "backing": _GEOMETRY | _SPACE | {"device", "image lies on", DISK_UNDER_TEST},
    "directory": _SPACE | {"device", "mounted on", DISK_UNDER_TEST},
    "state": frozenset({"free"}),
    "scheduler": frozenset({"I/O scheduler"}),
    "read_ahead": frozenset({"read-ahead"}),
    "bandwidth": frozenset({"limit"}),
    "qdisc": frozenset({"queueing discipline"}),
    "rate": frozenset({"queueing discipline"}),
    "family": frozenset({"Internet Protocol"}),
    "client_cpus": frozenset({"CPUs of the client"}),
    "server_cpus": frozenset({"CPUs of the server"}),
    "image": frozenset({"kernel", "distribution"}),
    "disk": frozenset({"operating system", "first process", "kernel", "modules loaded", "device"}),
}
"""Setting → facts that say the same in other words. A fact that has the name of a setting in it,
as MTU or a kernel parameter has, follows without being listed."""

_WHY: Final[Mapping[str, str]] = {
    NOT_IN_FORCE: "the kernel has them by default, or passes over them",
    _HOST: "they are not on one machine",
    _KERNEL: "they do not run under one kernel",
    "CPU quota": "their programs may use other shares of the CPUs",
    "host of the server": "their servers are not on one machine",
    DISK_UNDER_TEST: "they do not lie on one disk",
    "device": "they do not lie on one device",
    "image lies on": "they do not lie on one file system",
    "direct I/O to the image": "some are cached twice, below and above",
    "size": "a larger file system is laid out otherwise",
    "free": "a fuller file system is slower",
    "block size": "the same record is another number of blocks",
    _OPTIONS: "nobody asked for all of them",
    "I/O scheduler": "requests are ordered otherwise",
    "read-ahead": "reads in sequence fetch other amounts",
    "engine of the server": "they are not measured by one instrument",
}
"""Facts that decide results by themselves, those that do it most first."""


class Difference(Frozen):
    """A fact that is not the same in all systems."""

    fact: str
    values: dict[str, str]
    """System → value; :data:`ABSENT` where it has none."""
    follows_from: tuple[str, ...] = ()
    """Varied settings that explain it; empty: nobody asked for it."""
    why: str | None = None
    """Why it matters, where it can decide a result by itself."""


def differences(
    facts: Mapping[str, Mapping[str, str]],
    systems: Iterable[SystemSpec],
    here: Mapping[str, str],
) -> tuple[Difference, ...]:
    """What differs, the least expected first.

    Args:
        facts: system → what the kernel said when it was up.
        systems: as the study has them.
        here: the short facts of this host; where others are on another host, they are told of
            the systems that are on this one.

    Returns:
        Those that decide results and that nobody asked for, then all others that nobody asked
        for, then those that follow from what is varied.
    """
    specs = [system for system in systems if facts.get(system.name)]
    varied = _varied(specs)
    shown = _with_host({spec.name: facts[spec.name] for spec in specs}, here)
    names = dict.fromkeys(fact for of_one in shown.values() for fact in of_one)
    found = []
    for fact in names:
        values = {system: of_one.get(fact, ABSENT) for system, of_one in shown.items()}
        if len(set(values.values())) > 1:
            found.append(_difference(fact, values, _causes(fact, values, shown, specs, varied)))
    found += _not_in_force(shown, specs)
    order = list(_WHY)
    return tuple(
        sorted(
            found,
            key=lambda one: (
                bool(one.follows_from),
                order.index(one.fact) if one.why else len(order),
            ),
        )
    )


def _with_host(
    facts: Mapping[str, Mapping[str, str]], here: Mapping[str, str]
) -> dict[str, Mapping[str, str]]:
    """Facts in which hosts can be compared; a guest tells of its own kernel already."""
    elsewhere = {name for each in facts.values() if _HOST in each for name in each}
    own = {_HOST: str(HERE), **{name: here[name] for name in elsewhere & here.keys()}}
    return {
        system: each if not elsewhere or {_HOST, _KERNEL} & each.keys() else {**each, **own}
        for system, each in facts.items()
    }


def owners(names: Sequence[str], systems: int) -> str:
    """Whom a line is about that is the same for several of so many systems."""
    return "all systems" if len(names) == systems > 1 else ", ".join(names)


def told(found: Iterable[Difference]) -> Iterator[str]:
    """Lines for a terminal: what nobody asked for in full, what follows in one line a setting."""
    following: dict[str, list[str]] = {}
    for one in found:
        if one.follows_from:
            following.setdefault(" and ".join(one.follows_from), []).append(one.fact)
            continue
        each = "; ".join(f"{system}: {value}" for system, value in one.values.items())
        yield f"{'Warning' if one.why else 'Differs':9} {one.fact}: {each}" + (
            f" ({one.why})" if one.why else ""
        )
    for settings, facts in following.items():
        yield f"Caused    by {settings}: {', '.join(facts)}"


def _difference(fact: str, values: dict[str, str], causes: tuple[str, ...]) -> Difference:
    why = None if causes else _WHY.get(fact)
    return Difference(fact=fact, values=values, follows_from=causes, why=why)


def _varied(specs: Sequence[SystemSpec]) -> tuple[str, ...]:
    """Settings that are not the same in all systems; the kind of a system is one of them."""
    asked = [{**spec.settings, **spec.variables} for spec in specs]
    names = dict.fromkeys(name for each in asked for name in each)
    found = tuple(name for name in names if len({str(each.get(name)) for each in asked}) > 1)
    return (*found, "kind") if len({spec.kind for spec in specs}) > 1 else found


def _causes(
    fact: str,
    values: Mapping[str, str],
    shown: Mapping[str, Mapping[str, str]],
    specs: Sequence[SystemSpec],
    varied: Sequence[str],
) -> tuple[str, ...]:
    """The varied settings that a fact follows from."""
    if fact == _OPTIONS:
        return _causes_of_options(shown, specs, varied)
    if fact in _SPACE and "filesystem" in varied and _alike(values.values()):
        return ("filesystem",)
    follows = {name: _FOLLOWS.get(name, frozenset()) for name in varied}
    return tuple(name for name in varied if fact in follows[name] or _names(name, fact))


def _names(setting: str, fact: str) -> bool:
    """Whether a fact has the name of a setting in it, as a word: ``mtu``."""
    words = re.escape(setting.replace("_", " "))
    return re.search(rf"\b{words}\b", fact, re.IGNORECASE) is not None


def _causes_of_options(
    shown: Mapping[str, Mapping[str, str]], specs: Sequence[SystemSpec], varied: Sequence[str]
) -> tuple[str, ...]:
    """Options follow if those that nobody has asked about are the same for each type."""
    asked_about = {_stem(word) for spec in specs for word in _asked(spec)}
    left: dict[str, set[frozenset[str]]] = {}
    for spec in specs:
        options = _words(shown[spec.name].get(_OPTIONS, ""))
        rest = frozenset(word for word in options if _stem(word) not in asked_about)
        left.setdefault(shown[spec.name].get(_TYPE, ABSENT), set()).add(rest)
    if any(len(kinds) > 1 for kinds in left.values()):
        return ()
    if len(left) > 1 and "filesystem" not in varied:
        return ()
    return tuple(name for name in ("filesystem", "mount") if name in varied)


def _not_in_force(
    shown: Mapping[str, Mapping[str, str]], specs: Sequence[SystemSpec]
) -> Iterator[Difference]:
    """Mount options of a file system that were asked for, and that the kernel does not tell of."""
    missing = {
        spec.name: ",".join(sorted(_unlisted(_asked(spec), _words(shown[spec.name][_OPTIONS]))))
        for spec in specs
        if _OPTIONS in shown[spec.name]
    }
    if any(missing.values()):
        values = {system: words or "none" for system, words in missing.items()}
        yield _difference(NOT_IN_FORCE, values, ())


def _unlisted(asked: set[str], listed: set[str]) -> set[str]:
    """``compress=zlib`` is listed as ``compress=zlib:3``."""
    return {one for one in asked if not any(f"{word}:".startswith(f"{one}:") for word in listed)}


def _asked(spec: SystemSpec) -> set[str]:
    asked = spec.settings.get("mount", ()) if "filesystem" in spec.settings else ()
    return {str(word) for word in asked} if isinstance(asked, list | tuple) else set()


def _stem(option: str) -> str:
    """What an option is about: ``noatime`` and ``relatime`` alike, ``commit`` of any value."""
    name = option.partition("=")[0]
    return "atime" if name.endswith("atime") else name.removeprefix("no")


def _words(options: str) -> set[str]:
    return set(filter(None, options.split(",")))


def _alike(values: Iterable[str]) -> bool:
    """Whether sizes differ by no more than metadata."""
    sizes = [_bytes(value) for value in values]
    known = [size for size in sizes if size]
    return len(known) == len(sizes) and max(known) <= _ALIKE * min(known)


def _bytes(text: str) -> float | None:
    """A size as it is shown: ``3.84 GiB``."""
    number, _, unit = text.partition(" ")
    try:
        return float(number) * SIZE_UNITS[unit]
    except (ValueError, KeyError):
        return None
