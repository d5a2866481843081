"""How many intervals of a table or picture were widened stands beneath it."""

import json
from dataclasses import replace

from tiltyard.analysis.statements.numbers import WIDENED, widened_note
from tiltyard.report.document import Block, Document, Figure, Table, changed


def with_marks_explained(document: Document) -> Document:
    """The same document; only captions differ."""
    return changed(document, _explained)


def _explained(block: Block) -> Block:
    note = ""
    if isinstance(block, Table):
        entries = [entry for row in block.rows for entry in row]
        count = sum(f"{entry.text}{entry.beneath}".count(WIDENED) for entry in entries)
        note = widened_note(count) if count else ""
    elif isinstance(block, Figure):
        drawn = json.dumps(block.wide, ensure_ascii=False)
        note = widened_note(0) if WIDENED in drawn else ""
    if not note:
        return block
    assert isinstance(block, Table | Figure)
    return replace(block, caption=" ".join(filter(None, (block.caption, note))))
