"""What marks mean stands beneath the tables and pictures that have them, and beneath no others."""

import json
import re
from dataclasses import replace
from typing import Final

from tiltyard.analysis.statements.numbers import WIDENED, widened_note
from tiltyard.charts.figures import MARKS
from tiltyard.report.document import Block, Document, Figure, Table, changed

_ON_UNDECIDED: Final = (f", {MARKS['undecided']} undecided", " Undecided cells have no colour.")
_UNDECIDED: Final = re.compile(r'"\?|\(\? |"undecided"')
"""What a picture has of such a pair: its mark, alone or before a number, or its verdict."""


def with_marks_explained(document: Document) -> Document:
    """The same document; only captions differ.

    Intervals that were widened to no difference are counted beneath tables; what stands for a pair
    that is undecided is explained only where there is one.
    """
    return changed(document, _explained)


def _explained(block: Block) -> Block:
    if isinstance(block, Table):
        entries = [entry for row in block.rows for entry in row]
        undecided = any(entry.verdict == "undecided" for entry in entries)
        count = sum(f"{entry.text}{entry.beneath}".count(WIDENED) for entry in entries)
        note = widened_note(count) if count else ""
    elif isinstance(block, Figure):
        drawn = json.dumps(block.wide, ensure_ascii=False)
        undecided = bool(_UNDECIDED.search(drawn))
        note = widened_note(0) if WIDENED in drawn else ""
    else:
        return block
    caption = block.caption
    for words in () if undecided else _ON_UNDECIDED:
        caption = caption.replace(words, "")
    return replace(block, caption=" ".join(filter(None, (caption, note))))
