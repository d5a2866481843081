"""Titles begin with a capital, unless with a name: ``xfs``, ``tcp_rr`` and ``fread`` are called so.

Titles are made of what findings call their workloads, metrics and verdicts, in which a capital
would stand in the middle of a sentence; so they get it here, where they have become titles.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import PurePath
from typing import Final

from tiltyard.analysis.model import Findings
from tiltyard.report.document import (
    Block,
    Callout,
    Commands,
    Document,
    Facts,
    Figure,
    Fold,
    Section,
    Table,
    changed,
)
from tiltyard.study.program import PROGRAM

_IDENTIFIER: Final = re.compile(r"[^\s,:;]*[\d_/.=A-Z]|f(?:re)?(?:read|write)\b")
"""First words that no sentence has: identifiers, files, and tests named after functions of C."""


def with_capitals(document: Document, findings: Findings) -> Document:
    """The same document; only first letters of titles differ."""
    begun = partial(_begun, tuple(_names(findings)))
    made = changed(document, partial(_block, begun))
    return replace(made, title=begun(made.title), sections=_sections(made.sections, begun))


def _names(findings: Findings) -> Iterator[str]:
    """What is written as its owner writes it: systems, factors, levels, workloads, programs."""
    for system in findings.systems:
        yield system.name
        yield from system.levels
        yield from system.levels.values()
    for workload in findings.workloads:
        if workload.use != PROGRAM:
            yield workload.use
            yield workload.use.partition("-")[0]
        match workload.effective.get("command"):
            case [str(program), *_]:
                yield PurePath(program).name


def _begun(names: tuple[str, ...], title: str) -> str:
    if not title[:1].islower() or _IDENTIFIER.match(title):
        return title
    named = (title.removeprefix(name) for name in names if name and title.startswith(name))
    if any(not re.match(r"[\w-]", rest) for rest in named):
        return title
    return title[0].upper() + title[1:]


def _sections(sections: tuple[Section, ...], begun: Callable[[str], str]) -> tuple[Section, ...]:
    return tuple(
        replace(
            section,
            title=begun(section.title),
            sections=_sections(section.sections, begun),
        )
        for section in sections
    )


def _block(begun: Callable[[str], str], block: Block) -> Block:
    match block:
        case Table():
            charts = tuple(replace(own, title=begun(own.title)) for own in block.charts)
            return replace(block, title=begun(block.title), charts=charts)
        case Figure() | Facts() | Commands() | Callout():
            return replace(block, title=begun(block.title))
        case Fold():
            return replace(block, summary=begun(block.summary))
        case _:
            return block
