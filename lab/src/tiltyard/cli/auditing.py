"""The audit of a folder, and how a terminal shows it."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from tiltyard.analysis.audit.audit import UnfitClaimsError, audit
from tiltyard.analysis.audit.kinds import REGISTRY
from tiltyard.analysis.audit.model import Audited, Outcome
from tiltyard.collected.claims import NAME, read_claims
from tiltyard.collected.published import PUBLISHED, Publication, is_published
from tiltyard.collected.store import is_collected
from tiltyard.errors import UsageError
from tiltyard.folder import StudyFolder

HEADS: Final[dict[Outcome, str]] = {
    "contradicted": "Contradicted by the printed numbers",
    "rounding": "Only within rounding",
    "open": "Cannot be decided by what is printed",
    "follows": "Follows to the last digit",
}
"""In the order in which they are told."""
_STYLES: Final[dict[Outcome, str]] = {
    "contradicted": "bold red",
    "rounding": "bold yellow",
    "open": "bold",
    "follows": "bold green",
}


def printed_or_fail(folder: Path) -> None:
    """Nothing, if a folder holds a printed study.

    Raises:
        UsageError: if it does not; the message says what it holds instead.
    """
    if is_published(folder):
        return
    if not folder.is_dir():
        raise UsageError(f"{folder}: {'this is not a' if folder.exists() else 'no such'} folder")
    if is_collected(folder) or StudyFolder(folder).study.exists():
        raise UsageError(
            f"{folder}: this study states nothing that could be audited: that does a printed one, "
            f"a folder with {PUBLISHED}"
        )
    inside = sorted(path.parent.name for path in folder.glob(f"*/{PUBLISHED}"))
    elsewhere = f", but in {', '.join(inside)}" if inside else ""
    raise UsageError(f"{folder}: there is no {PUBLISHED} in it{elsewhere}")


def audited(folder: Path, publication: Publication) -> tuple[Audited, ...]:
    """What a printed study states, held against its numbers.

    Raises:
        UsageError: if its claims cannot be read, or name what it does not have; the message names
            line, claim and key.
    """
    path = folder / NAME
    collection, derived = publication.collection, publication.derived
    if not path.exists():
        return audit(collection, derived)
    file = read_claims(path, {kind.name: kind.states for kind in REGISTRY})
    try:
        return audit(collection, derived, file.claims)
    except UnfitClaimsError as error:
        raise file.error(error.flaws) from error


def tally(found: Sequence[Audited]) -> str:
    """``10 contradicted, 5 rounding, 4 open, 65 follow``."""
    counts = {outcome: sum(one.outcome == outcome for one in found) for outcome in HEADS}
    named = {"follows": "follow"}
    return ", ".join(f"{count} {named.get(name, name)}" for name, count in counts.items())


def audit_page(title: str, found: Sequence[Audited], everything: bool) -> RenderableType:
    """What a person reads: by outcome, the worst first."""
    parts: list[RenderableType] = [Text(title, style="bold"), Text(f"{tally(found)}.")]
    for outcome, head in HEADS.items():
        own = [one for one in found if one.outcome == outcome]
        if own and (everything or outcome != "follows"):
            heading = Text(f"{head} ({len(own)})", style=_STYLES[outcome])
            parts += [Text(), heading, _table(own)]
    return Group(*parts, Text())


def _table(found: Sequence[Audited]) -> Table:
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(width=24, overflow="fold")
    table.add_column(ratio=1)
    for one in found:
        lines = [(f"“{one.claim}”\n", ""), (f"{one.sentence}  ", ""), (one.id, "dim")]
        if one.found:
            lines.insert(1, (f"states {one.stated}; found: {one.found}\n", "bold"))
        table.add_row(Text(one.where), Text.assemble(*lines))
    return table
