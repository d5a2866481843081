"""The system record: what a reader must know of a host to judge a result, section by section.

A section is one file and one line in :data:`SECTIONS`. Only files are read that are listed there:
some of ``/sys`` act when they are read (``zram-control/hot_add`` makes a device). What a host does
not tell is "not available", never left out, and never an error.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Final

from tiltyard.host.place import HERE, Place
from tiltyard.host.record.look import look
from tiltyard.host.record.section import ABSENT, Command, RecordRequest, Section, Seen, because
from tiltyard.registry import Plugin, PluginError, Registry

__all__ = ["ABSENT", "SECTIONS", "Record", "RecordRequest", "Section", "changed", "changes", "take"]

Record = dict[str, dict[str, str]]
"""Section → fact → value, in the order in which they are shown."""


def _facts(made: object) -> dict[str, str]:
    if not isinstance(made, dict) or not all(
        isinstance(each, str) for one in made.items() for each in one
    ):
        raise TypeError("it told no table of facts, text to text")
    return made


def _sound(made: Section, _plugin: Plugin) -> Section:
    """A package's section: where it fails, its facts are not available."""

    def ask(seen: Seen) -> list[Command]:
        try:
            return [tuple(map(str, command)) for command in made.ask(seen)]
        except PluginError:
            return []

    def tell(seen: Seen) -> dict[str, str]:
        try:
            return made.tell(seen)
        except PluginError as error:
            return {"facts": because(str(error))}

    def unsettled(facts: Mapping[str, str]) -> frozenset[str]:
        try:
            return frozenset(made.unsettled(facts))
        except PluginError:
            return frozenset(facts)

    return replace(made, ask=ask, tell=tell, unsettled=unsettled)


SECTIONS: Final = Registry[Section](
    "sections",
    {
        "machine": ".machine:SECTION",
        "firmware settings": ".firmware:SECTION",
        "processor": ".processor:SECTION",
        "memory": ".memory:SECTION",
        "NUMA": ".nodes:SECTION",
        "disks": ".disks:SECTION",
        "file system of the study folder": ".storage:SECTION",
        "network": ".network:SECTION",
        "interrupts": ".interrupts:SECTION",
        "controllers": ".controllers:SECTION",
        "distribution": ".distribution:SECTION",
        "kernel": ".kernel:SECTION",
        "mitigations": ".mitigations:SECTION",
        "clock": ".clock:SECTION",
        "kernel parameters": ".parameters:SECTION",
        "virtualisation": ".virtual:SECTION",
        "limits": ".limits:SECTION",
        "versions": ".versions:SECTION",
    },
    Section,
    within=__name__,
    checks={"tell": _facts},
    sound=_sound,
)
"""In the order in which they are shown."""


def take(
    subject: RecordRequest, place: Place = HERE, sections: Iterable[Section] = SECTIONS
) -> Record:
    """The record of a host, as it is now.

    Args:
        subject: what is worked on there, and with what.
        place: the host.
        sections: those that are wanted.

    Raises:
        TiltyardError: if the host cannot be reached, or what it answers cannot be read.
    """
    wanted = tuple(sections)
    with place.understood():
        seen = look(wanted, subject, place)
        return {section.name: section.tell(seen) for section in wanted}


def changes(
    before: Mapping[str, Mapping[str, str]], now: Mapping[str, Mapping[str, str]]
) -> tuple[str, ...]:
    """What is not as it was, a sentence each; see :func:`changed`."""
    return tuple(
        f'{section}: {fact} was "{old}" and is "{new}"'
        for section, fact, old, new in changed(before, now)
    )


def changed(
    before: Mapping[str, Mapping[str, str]], now: Mapping[str, Mapping[str, str]]
) -> Iterator[tuple[str, str, str, str]]:
    """Section, fact, value before and now of everything that is not as it was.

    Facts that change from one moment to the next are passed over, and sections that only one of
    both has: another version of Tiltyard has taken it.
    """
    for section in SECTIONS:
        if section.name not in before or section.name not in now:
            continue
        own, other = before[section.name], now[section.name]
        passed = section.volatile | section.unsettled(own) | section.unsettled(other)
        for fact in dict.fromkeys((*own, *other)):
            old, new = (each.get(fact, ABSENT) for each in (own, other))
            if fact not in passed and old != new:
                yield section.name, fact, old, new
