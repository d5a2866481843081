"""Where values come from that were not measured here."""

from tiltyard.analysis.model import Findings
from tiltyard.report.document import Block, Column, Entry, Facts, Fold, Paragraph, Table


def origin(findings: Findings) -> tuple[Block, ...]:
    """Title, author, date, address, and how the numbers came here; nothing for our own."""
    found = findings.origin
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


def byline(findings: Findings) -> str:
    """One line: who made it, and when; empty for our own."""
    found = findings.origin
    if found is None:
        return ""
    return ", ".join(filter(None, (found.title, found.author, found.published)))


def _files(findings: Findings) -> Table:
    files = findings.origin.files if findings.origin else ()
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
