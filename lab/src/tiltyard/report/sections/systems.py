"""The systems as they were prepared, and what differs between them."""

from collections.abc import Sequence

from tiltyard.analysis.model import Findings, SystemFindings
from tiltyard.report.document import (
    Block,
    Column,
    Commands,
    Entry,
    Facts,
    Fold,
    Paragraph,
    Section,
    Table,
)
from tiltyard.report.sections.ids import slugs
from tiltyard.run.differences import Difference


def differences(findings: Findings) -> tuple[Block, ...]:
    """What differs beyond what is varied on purpose; folded, what follows from the factors."""
    if findings.origin:
        return ()
    unasked = [one for one in findings.differences if not one.follows_from]
    following = [one for one in findings.differences if one.follows_from]
    blocks: list[Block] = []
    if unasked:
        told = "Beyond what is varied on purpose; what can decide a result by itself comes first."
        blocks.append(Paragraph(told, "quiet"))
        blocks.append(_differing(findings, unasked, "differences", "What differs"))
    else:
        told = (
            "Nothing that was recorded differs between the systems beyond what is varied on "
            "purpose."
        )
        blocks.append(Paragraph(told))
    if following:
        title = f"What follows from the factors ({len(following)})"
        table = _differing(findings, following, "differences-following", "What follows")
        blocks.append(Fold(title, (table,)))
    return tuple(blocks)


def systems(findings: Findings) -> tuple[Section, ...]:
    """Each system: its levels, how it is brought up, what the kernel said of it."""
    ids = slugs(system.name for system in findings.systems)
    return tuple(
        Section(f"system-{ids[system.name]}", system.name, _system(system, findings))
        for system in findings.systems
    )


def _system(system: SystemFindings, findings: Findings) -> tuple[Block, ...]:
    blocks: list[Block] = [Facts(tuple(system.levels.items()))]
    if system.commands:
        blocks.append(
            Commands(system.commands, "" if findings.origin else "Brought up in each block by")
        )
    if system.facts:
        facts = Facts(tuple(system.facts.items()))
        told = "the source tells" if findings.origin else "the kernel said"
        blocks.append(Fold(f"Everything that {told} of it", (facts,)))
    return tuple(blocks)


def _differing(findings: Findings, found: Sequence[Difference], id: str, title: str) -> Table:
    """Facts down, systems across; beneath a fact, why it matters."""
    return Table(
        id=id,
        title=title,
        columns=(
            Column("Fact", figures=False),
            *(Column(system.name, figures=False) for system in findings.systems),
        ),
        rows=tuple(
            (
                Entry(one.fact, beneath=one.why or "", strong=True),
                *(Entry(one.values.get(system.name, "–")) for system in findings.systems),
            )
            for one in found
        ),
    )
