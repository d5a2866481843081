"""What a house style is."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from tiltyard.analysis.model import Findings
from tiltyard.report.document import Block, Document, Section


@dataclass(frozen=True)
class Style:
    """One way to tell findings."""

    name: str
    """What a person types: ``whitepaper``."""
    about: str
    compose: Callable[[Findings], Document]
    """Findings → document; pure, computes nothing."""


def known(*blocks: Block | None) -> tuple[Block, ...]:
    """Those that there are."""
    return tuple(block for block in blocks if block is not None)


def with_content(sections: Iterable[Section]) -> tuple[Section, ...]:
    """The sections that have something in them."""
    return tuple(section for section in sections if section.blocks or section.sections)
