"""What is calibrated: quick workloads whose one kind of call is known, and where they run."""

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, Literal

from pydantic import JsonValue

from tiltyard.address import THIS_HOST, Address
from tiltyard.errors import UsageError
from tiltyard.study.problems import one_of
from tiltyard.study.toml import toml_value
from tiltyard.systems import KINDS
from tiltyard.wire import Catalogue

_LOOP_CONTROL = Path("/dev/loop-control")


@dataclass(frozen=True)
class Subject:
    """One workload that is calibrated."""

    name: str
    about: str
    use: str
    """The engine's workload."""
    parameters: dict[str, JsonValue]
    target: Literal["directory", "far"]
    call: str | None
    """The sort of call that its metric counts, one an operation; ``None``: only A/A."""


def _random(percent: int, about: str, call: str) -> Subject:
    """Blocks of 64 KiB in a file that stays in the cache: some 25 ms a trial."""
    return Subject(
        name=f"random_{call}",
        about=about,
        use="random",
        parameters={
            "file": "4M",
            "block": "64k",
            "read_percent": percent,
            "operations": 4000,
            "timing": "pass",
        },
        target="directory",
        call=call,
    )


SUBJECTS: Final[tuple[Subject, ...]] = (
    _random(100, "random reads of 64 KiB, in the page cache", "read"),
    _random(0, "random writes of 64 KiB, in the page cache", "write"),
    Subject(
        name="tcp_rr",
        about="requests and responses of 1 B over TCP",
        use="tcp_rr",
        parameters={"transactions": 2000, "timing": "pass"},
        target="far",
        call="send",
    ),
)
"""Calibrated if nothing else is asked for, in this order."""


def subjects(asked: Sequence[str], catalogue: Catalogue) -> tuple[Subject, ...]:
    """The subjects that a person asks for: of :data:`SUBJECTS`, or any workload of the engine.

    Raises:
        UsageError: if there is no such workload.
    """
    if not asked:
        return SUBJECTS
    known = {subject.name: subject for subject in SUBJECTS}
    found = []
    for name in dict.fromkeys(asked):
        card = catalogue.workload(name)
        if name in known:
            found.append(known[name])
        elif card is not None:
            found.append(Subject(name, card.about, name, dict(card.usual), card.target, None))
        else:
            names = sorted({*known, *catalogue.names})
            raise UsageError(f'"{name}" is not a workload. {one_of(name, names)}')
    return tuple(found)


@dataclass(frozen=True)
class Place:
    """A kind of system as a calibration uses it, in the words of a study file."""

    kind: str
    same: str
    """A line of ``[factors]``: one system under two names."""
    alone: str = ""
    """A line of ``[systems]``: that system, where something else is varied."""
    settings: str = ""
    """Lines of ``[systems]`` in any case."""
    directories: tuple[str, ...] = ()
    """That it needs in the study folder."""

    def on(self, address: Address) -> "Place":
        """The same on another host, or on this one."""
        if not address.is_remote:
            return self
        named = (f"{key} = {toml_value(value)}" for key, value in address.settings.items())
        return replace(self, settings="\n".join(filter(None, (self.settings, *named))))


_FAMILY: Final = 'family = { a = "ipv4", b = "ipv4" }'
PLACES: Final[dict[str, Place]] = {
    place.kind: place
    for place in (
        Place(
            "loop-image",
            same='filesystem = { a = "ext4", b = "ext4" }',
            alone='filesystem = "ext4"',
            settings='backing = { image = "64M" }',
        ),
        Place(
            "directory",
            same='directory = { a = "disk-a", b = "disk-b" }',
            alone='directory = "disk-a"',
            directories=("disk-a", "disk-b"),
        ),
        Place("loopback", same=_FAMILY),
        Place("pair", same=_FAMILY),
    )
}


IN_MEMORY: Final = Place(
    "loop-image",
    same=PLACES["loop-image"].same,
    alone=PLACES["loop-image"].alone,
    settings='backing = { image = "64M", at = "/dev/shm" }',
)
"""An image whose disk is memory: steadier than any device, where a limit shall be what counts."""


def place_of(subject: Subject, kinds: Sequence[str], address: Address = THIS_HOST) -> Place | None:
    """Where a subject runs: on the first of the kinds that carries it, or on the usual one.

    Args:
        subject: What runs.
        kinds: That a person asks for; empty: an image as root, else directories; the loopback.
        address: Of the host where; on another one it is an image.

    Returns:
        ``None`` if none of the kinds that were asked for carries it.
    """
    if not kinds:
        images = address.is_remote or (os.geteuid() == 0 and _LOOP_CONTROL.exists())
        return PLACES["loopback" if subject.target == "far" else _storage(images)].on(address)
    targets = {kind.name: kind.target for kind in KINDS}
    fitting = (PLACES[kind] for kind in kinds if targets[kind] == subject.target)
    found = next(fitting, None)
    return found.on(address) if found else None


def _storage(images: bool) -> str:
    return "loop-image" if images else "directory"


def check_kinds(kinds: Sequence[str], *, is_remote: bool = False) -> None:
    """Insist that calibration knows these kinds of systems.

    Args:
        kinds: that a person asks for.
        is_remote: whether they are to be on another host.

    Raises:
        UsageError: if it does not.
    """
    known = [kind for kind, place in PLACES.items() if not (is_remote and place.directories)]
    for kind in kinds:
        if kind not in known:
            there = " of another host" if is_remote else ""
            raise UsageError(f'"{kind}"{there} cannot be calibrated on. {one_of(kind, known)}')
