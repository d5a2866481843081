"""``tiltyard audit``: what does not follow from a printed study's own numbers."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from rich.console import RenderableType

    from tiltyard.collected.audited import Audited, Outcome


HEADS: Final[dict["Outcome", str]] = {
    "contradicted": "Contradicted by the printed numbers",
    "rounding": "Only within rounding",
    "open": "Cannot be decided by what is printed",
    "follows": "Follows to the last digit",
}
"""In the order in which they are printed."""
_STYLES: Final[dict["Outcome", str]] = {
    "contradicted": "bold red",
    "rounding": "bold yellow",
    "open": "bold",
    "follows": "bold green",
}


def audit(*studies: Path, json: bool = False, all: bool = False) -> None:
    """Recompute every derived number and every claim of printed studies, and list what fails.

    A study is a folder with `published.toml` (its tables) and `claims.toml` (its sentences). What
    its tables contradict, what holds only within rounding, and what nothing printed can decide is
    listed; of what follows, the count.

    ```
    tiltyard audit published/iozone-rhel6
    tiltyard audit published/*
    tiltyard audit published/* --json | jq '.[].audit[] | select(.outcome == "contradicted")'
    ```

    Args:
        studies: Folders of printed studies; by default this one.
        json: Print everything as JSON instead.
        all: List also what follows.
    """
    from json import dumps

    from tiltyard.cli.console import emit_json, show
    from tiltyard_published.read import read_publication
    from tiltyard_published.study import audited, require_printed

    folders = studies or (Path(),)
    for folder in folders:
        require_printed(folder)
    found = {folder: read_publication(folder) for folder in folders}
    audits = {folder: audited(folder, publication) for folder, publication in found.items()}
    if json:
        listed = [
            {
                "study": str(folder),
                "title": found[folder].collection.origin.title,
                "audit": [one.model_dump() for one in own],
            }
            for folder, own in audits.items()
        ]
        emit_json(dumps(listed, indent=2, ensure_ascii=False))
        return
    for folder, own in audits.items():
        show(audit_page(found[folder].collection.origin.title, own, everything=all))


def tally(found: Sequence["Audited"]) -> str:
    """``10 contradicted, 5 rounding, 4 open, 65 follow``."""
    counts = {outcome: sum(one.outcome == outcome for one in found) for outcome in HEADS}
    named = {"follows": "follow"}
    return ", ".join(f"{count} {named.get(name, name)}" for name, count in counts.items())


def audit_page(title: str, found: Sequence["Audited"], everything: bool) -> "RenderableType":
    """What a person reads: by outcome, the worst first."""
    from rich.console import Group
    from rich.text import Text

    parts: list[RenderableType] = [Text(title, style="bold"), Text(f"{tally(found)}.")]
    for outcome, head in HEADS.items():
        own = [one for one in found if one.outcome == outcome]
        if own and (everything or outcome != "follows"):
            heading = Text(f"{head} ({len(own)})", style=_STYLES[outcome])
            parts += [Text(), heading, _table(own)]
    return Group(*parts, Text())


def _table(found: Sequence["Audited"]) -> "RenderableType":
    from rich.table import Table
    from rich.text import Text

    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(width=24, overflow="fold")
    table.add_column(ratio=1)
    for one in found:
        lines = [(f"“{one.claim}”\n", ""), (f"{one.sentence}  ", ""), (one.id, "dim")]
        if one.found:
            lines.insert(1, (f"states {one.stated}; found: {one.found}\n", "bold"))
        table.add_row(Text(one.where), Text.assemble(*lines))
    return table
