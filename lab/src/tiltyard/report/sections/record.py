"""The system record: what each host told of itself, section by section."""

from collections.abc import Mapping

from tiltyard.analysis.model import Findings
from tiltyard.report.document import Block, Column, Entry, Fold, Section, Table
from tiltyard.report.sections.ids import slugs

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
        Fold(_capital(section), (_table(facts, f"{id}-{ids[section]}", _capital(section)),))
        for section, facts in found.items()
    )


def _table(facts: Mapping[str, str], id: str, title: str) -> Table:
    return Table(
        id=id,
        title=title,
        columns=(Column("Fact", figures=False), Column("Value", figures=False)),
        rows=tuple(
            (Entry(fact, strong=True), Entry(value, quiet=value == _UNKNOWN))
            for fact, value in facts.items()
        ),
    )


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
