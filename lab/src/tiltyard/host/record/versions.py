"""Versions of the lab, its engine and libraries, and of the programs that prepare systems."""

from tiltyard.host.record.section import ABSENT, Command, Section, Seen

_BASIC: tuple[Command, ...] = (
    ("mount", "--version"),
    ("losetup", "--version"),
    ("ip", "-Version"),
    ("ethtool", "--version"),
)


def _tell(seen: Seen) -> dict[str, str]:
    found = dict(seen.subject.own)
    for command in _ask(seen):
        found[command[0]] = next(iter(seen.answer(command).splitlines()), ABSENT)
    return found


def _ask(seen: Seen) -> list[Command]:
    given = [(tool.command, *tool.version) for tool in seen.subject.tools]
    return list(dict.fromkeys((*given, *_BASIC)))


SECTION = Section(name="versions", tell=_tell, ask=_ask)
