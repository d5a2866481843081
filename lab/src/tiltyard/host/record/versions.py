"""Versions of the lab, its engine and libraries, and of the programs that prepare systems."""

from tiltyard.host.record.section import ABSENT, Command, Section, Seen, Subject

_BASIC: tuple[Command, ...] = (
    ("mount", "--version"),
    ("losetup", "--version"),
    ("ip", "-Version"),
    ("ethtool", "--version"),
)


def _tell(seen: Seen, subject: Subject) -> dict[str, str]:
    found = dict(subject.own)
    for command in _ask(seen, subject):
        found[command[0]] = next(iter(seen.answer(command).splitlines()), ABSENT)
    return found


def _ask(seen: Seen, subject: Subject) -> list[Command]:
    del seen
    given = [(tool.command, *tool.version) for tool in subject.tools]
    return list(dict.fromkeys((*given, *_BASIC)))


SECTION = Section(name="versions", tell=_tell, ask=_ask)
