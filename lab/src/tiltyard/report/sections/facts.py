"""The systems side by side: what they share is told once, what differs fact by fact."""

from typing import Final

from tiltyard.analysis.model import Findings, SystemFindings
from tiltyard.report.document import Block, Column, Commands, Entry, Facts, Table

_ABREAST: Final = 4
"""As many systems have room beside each other on a page."""
_SHORT: Final = 40
"""Longer texts have no room there: each system then has a list of its own."""


def facts(findings: Findings) -> tuple[Block, ...]:
    """Facts that are the same for all systems, then a table of those that differ."""
    told = {system.name: {**system.levels, **system.facts} for system in findings.systems}
    names = list(dict.fromkeys(name for own in told.values() for name in own))
    values = {name: [own.get(name, "–") for own in told.values()] for name in names}
    shared = [name for name in names if len(set(values[name])) == 1]
    differing = [name for name in names if name not in shared]
    blocks: list[Block] = []
    if shared:
        rows = tuple((name, values[name][0]) for name in shared)
        blocks.append(Facts(rows, "Of all systems"))
    longest = max((len(value) for name in differing for value in values[name]), default=0)
    if longest > _SHORT:
        blocks += [
            Facts(tuple((name, own[name]) for name in differing if name in own), system)
            for system, own in told.items()
        ]
    elif differing:
        found = findings.systems
        parts = [found[first : first + _ABREAST] for first in range(0, len(found), _ABREAST)]
        blocks += [
            _table(own, told, differing, number, len(parts)) for number, own in enumerate(parts, 1)
        ]
    return tuple(blocks)


def system_commands(findings: Findings) -> tuple[Block, ...]:
    """How systems are brought up; those that are brought up alike are told together."""
    alike: dict[tuple[str, ...], list[str]] = {}
    for system in findings.systems:
        if system.commands:
            alike.setdefault(system.commands, []).append(system.name)
    return tuple(Commands(lines, ", ".join(names)) for lines, names in alike.items())


def _table(
    systems: tuple[SystemFindings, ...],
    told: dict[str, dict[str, str]],
    names: list[str],
    number: int,
    parts: int,
) -> Table:
    title = "What the systems differ in" + (f" ({number} of {parts})" if parts > 1 else "")
    return Table(
        id=f"systems-{number}",
        title=title,
        columns=(
            Column("Fact", figures=False),
            *(Column(system.name, figures=False) for system in systems),
        ),
        rows=tuple(
            (
                Entry(name, strong=True),
                *(Entry(told[system.name].get(name, "–")) for system in systems),
            )
            for name in names
        ),
    )
