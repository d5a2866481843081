"""The systems and the host: levels, facts, differences, commands, records, sources."""

from collections.abc import Mapping, Sequence
from typing import Final

from tiltyard.analysis.model import Findings, SystemFindings
from tiltyard.analysis.runbook import runbook
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
from tiltyard.report.sections.entries import by_system, slugs, system_entry
from tiltyard.run.differences import Difference
from tiltyard.units import count_of

_ABREAST: Final = 4
"""As many systems have room beside each other on a page."""
_ACROSS: Final = 6
"""As many facts have room beside each other."""
_DIFFERENCES: Final = "Differences between the systems"


def facts(findings: Findings) -> tuple[Block, ...]:
    """Facts that are the same for all systems, then a table of those that differ."""
    facts_of = {system.name: {**system.levels, **system.facts} for system in findings.systems}
    names = list(dict.fromkeys(name for own in facts_of.values() for name in own))
    values = {name: [own.get(name, "–") for own in facts_of.values()] for name in names}
    shared = [name for name in names if len(set(values[name])) == 1]
    differing = [name for name in names if name not in shared]
    blocks: list[Block] = []
    if shared:
        rows = tuple((name, values[name][0]) for name in shared)
        blocks.append(Facts(rows, "All systems"))
    if 0 < len(differing) <= _ACROSS:
        blocks.append(_matrix(differing, facts_of))
    elif differing:
        found = findings.systems
        parts = [found[first : first + _ABREAST] for first in range(0, len(found), _ABREAST)]
        blocks += [
            by_system(
                f"systems-{number}",
                _DIFFERENCES + (f" ({number} of {len(parts)})" if len(parts) > 1 else ""),
                "Fact",
                own,
                [
                    (Entry(name, strong=True), dict(zip(facts_of, values[name], strict=True)))
                    for name in differing
                ],
            )
            for number, own in enumerate(parts, 1)
        ]
    return tuple(blocks)


def _matrix(differing: Sequence[str], facts_of: Mapping[str, Mapping[str, str]]) -> Table:
    """All configurations at a glance: systems down, what differs across."""
    return Table(
        id="systems-1",
        title=_DIFFERENCES,
        columns=(
            Column("System", figures=False),
            *(Column(name, figures=False) for name in differing),
        ),
        rows=tuple(
            (system_entry(system), *(Entry(own.get(name, "–")) for name in differing))
            for system, own in facts_of.items()
        ),
    )


def system_commands(findings: Findings) -> tuple[Block, ...]:
    """How systems are brought up; those that are brought up alike are printed together."""
    alike: dict[tuple[str, ...], list[str]] = {}
    for system in findings.systems:
        if system.commands:
            alike.setdefault(system.commands, []).append(system.name)
    return tuple(Commands(lines, ", ".join(names)) for lines, names in alike.items())


def differences(findings: Findings) -> tuple[Block, ...]:
    """What differs beyond what is varied on purpose; folded, what follows from the factors."""
    if not findings.planned:
        return ()
    unasked = [one for one in findings.differences if not one.follows_from]
    following = [one for one in findings.differences if one.follows_from]
    blocks: list[Block] = []
    if unasked:
        text = "Beyond the factors; facts that can decide a result alone come first."
        blocks.append(Paragraph(text, "quiet"))
        blocks.append(_differing(findings, unasked, "differences", "What differs"))
    else:
        text = "No recorded fact differs between the systems beyond the factors."
        blocks.append(Paragraph(text))
    if following:
        title = f"Caused by the factors ({len(following)})"
        table = _differing(findings, following, "differences-following", "Caused by the factors")
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
            Commands(system.commands, "Prepared in each block by" if findings.planned else "")
        )
    if system.facts:
        facts = Facts(tuple(system.facts.items()))
        reporter = "the kernel reported" if findings.planned else "the source states"
        blocks.append(Fold(f"Everything that {reporter} of it", (facts,)))
    return tuple(blocks)


def _differing(findings: Findings, found: Sequence[Difference], id: str, title: str) -> Table:
    """Beneath a fact, why it matters."""
    rows = ((Entry(one.fact, beneath=one.why or "", strong=True), one.values) for one in found)
    return by_system(id, title, "Fact", findings.systems, rows)


_UNKNOWN = "not available"


def record(findings: Findings) -> tuple[Block, ...]:
    """Of the host that the study was run on."""
    return _folded(findings.record, "record")


def other_records(findings: Findings) -> tuple[Section, ...]:
    """Of each other host that took part."""
    ids = slugs(findings.other_hosts)
    return tuple(
        Section(f"record-of-{ids[name]}", name, _folded(found, f"record-of-{ids[name]}"))
        for name, found in findings.other_hosts.items()
    )


def _folded(found: Mapping[str, Mapping[str, str]], id: str) -> tuple[Fold, ...]:
    """A table for each section."""
    ids = slugs(found)
    return tuple(
        Fold(_capital(section), (_record_table(facts, f"{id}-{ids[section]}", _capital(section)),))
        for section, facts in found.items()
    )


def _record_table(facts: Mapping[str, str], id: str, title: str) -> Table:
    return Table(
        id=id,
        title=title,
        columns=(Column("Fact", figures=False), Column("Value", figures=False)),
        rows=tuple(
            (Entry(fact, strong=True), Entry(value, quiet=value.startswith(_UNKNOWN)))
            for fact, value in facts.items()
        ),
    )


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def origin(findings: Findings) -> tuple[Block, ...]:
    """Title, author, date, address, and how the numbers came here; nothing for our own."""
    found = findings.provenance
    if found is None:
        return ()
    named = (
        ("title", found.title),
        ("author", found.author),
        ("published", found.published),
        ("address", found.address),
    )
    blocks: list[Block] = [Facts(tuple((name, value) for name, value in named if value))]
    if found.note:
        blocks.append(Paragraph(found.note))
    if found.files:
        blocks.append(
            Fold(f"Files that the values were read from ({len(found.files)})", (_files(findings),))
        )
    return tuple(blocks)


def as_script(findings: Findings) -> Section:
    """The whole study as a shell script, folded; empty where its record has no steps."""
    lines = runbook(findings)
    blocks = (
        Paragraph("To copy and execute; also by tiltyard export --to runbook."),
        Fold(f"The script ({count_of(len(lines), 'line')})", (Commands(lines),)),
    )
    return Section("runbook", "Runbook", blocks if lines else (), appendix=True)


def byline(findings: Findings) -> str:
    """One line: who made it, and when; empty for our own."""
    found = findings.provenance
    if found is None:
        return ""
    return ", ".join(filter(None, (found.title, found.author, found.published)))


def _files(findings: Findings) -> Table:
    files = findings.provenance.files if findings.provenance else ()
    return Table(
        id="source-files",
        title="Files that the values were read from",
        columns=(
            Column("File", figures=False),
            Column("Read by", figures=False),
            Column("SHA-256", figures=False),
        ),
        rows=tuple(
            (Entry(file.name, strong=True), Entry(file.importer), Entry(file.sha256, quiet=True))
            for file in files
        ),
    )


def colophon(findings: Findings) -> tuple[tuple[str, str], ...]:
    """Names and values; of results from elsewhere there is no seed and no engine."""
    if not findings.planned:
        return (("data", findings.plan_hash), ("tiltyard", findings.tiltyard))
    return (
        ("plan", findings.plan_hash),
        *((("seal", findings.seal),) if findings.seal else ()),
        ("seed", str(findings.seed)),
        ("engine", findings.engine),
        ("tiltyard", findings.tiltyard),
    )


def sources(findings: Findings) -> str:
    """Where every number of a report lies, in one sentence."""
    if not findings.planned:
        return (
            "Every number of this report is in findings.json, made from the values of the source "
            "by the rules above."
        )
    return (
        "Every number of this report is in findings.json, made from the trials in trials/ by the "
        "rules in plan.json, which was frozen before the first trial. All are in the "
        "folder of the study."
    )
