"""The pictures of a page, drawn; where they are many, those that take most room say less."""

from collections.abc import Mapping
from dataclasses import dataclass

from markupsafe import Markup

from tiltyard.charts.svg import to_svg
from tiltyard.report.document import Document, Figure

LIMIT_BYTES = 1_200_000
"""Of all pictures of a page together."""
_SMALL_BYTES = 50_000
"""A picture of up to this size stays as it is."""


@dataclass(frozen=True)
class Drawn:
    """One picture for a desk and, where it was drawn apart, for a phone."""

    wide: Markup
    narrow: Markup | None


@dataclass(frozen=True)
class Pictures:
    """All pictures of a document, by id."""

    drawn: Mapping[str, Drawn]

    @classmethod
    def of(cls, document: Document, limit_bytes: int = LIMIT_BYTES) -> "Pictures":
        """Draw them; beyond the limit the largest lose their titles, then their narrow forms."""
        by_id = {figure.id: figure for figure in document.figures()}
        drawn = {id: _draw(figure) for id, figure in by_id.items()}
        for lessen in (_untitled, _wide_only):
            for id in sorted(drawn, key=lambda id: -_size(drawn[id])):
                if sum(map(_size, drawn.values())) <= limit_bytes:
                    return cls(drawn)
                if _size(drawn[id]) > _SMALL_BYTES:
                    drawn[id] = lessen(by_id[id], drawn[id])
        return cls(drawn)


def _draw(figure: Figure) -> Drawn:
    """Marks of the wide form tell what they stand for under a pointer; a phone has none."""
    narrow = None if figure.narrow is None else Markup(to_svg(figure.narrow, figure.alt))
    return Drawn(Markup(to_svg(figure.wide, figure.alt, titles=True)), narrow)


def _untitled(figure: Figure, drawn: Drawn) -> Drawn:
    return Drawn(Markup(to_svg(figure.wide, figure.alt)), drawn.narrow)


def _wide_only(_figure: Figure, drawn: Drawn) -> Drawn:
    return Drawn(drawn.wide, None)


def _size(drawn: Drawn) -> int:
    return len(drawn.wide) + len(drawn.narrow or "")
