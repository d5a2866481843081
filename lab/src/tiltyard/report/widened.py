"""Intervals that were widened to no difference are marked; what the mark means stands beneath."""

import json
from dataclasses import replace

from tiltyard.analysis.statements.numbers import WIDENED, widened_note
from tiltyard.report.document import Block, Document, Figure, Table, changed


def with_widened_noted(document: Document) -> Document:
    """The same document; each table and picture with such a mark says what it means."""
    return changed(document, _noted)


def _noted(block: Block) -> Block:
    if isinstance(block, Table):
        entries = [entry for row in block.rows for entry in row]
        count = sum(f"{entry.text}{entry.beneath}".count(WIDENED) for entry in entries)
    elif isinstance(block, Figure) and WIDENED in json.dumps(block.wide, ensure_ascii=False):
        count = 0
    else:
        return block
    if isinstance(block, Table) and not count:
        return block
    return replace(block, caption=" ".join(filter(None, (block.caption, widened_note(count)))))
