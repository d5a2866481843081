"""Each figure as a file of its own, with title and subtitle, at print size: SVG and PNG."""

from collections.abc import Callable, Iterable
from typing import Final

from tiltyard.charts.drawings import png
from tiltyard.charts.svg import to_file
from tiltyard.report.document import Document, Figure, Look

FOLDER: Final = "figures"
_DPI: Final = 300
_SCALE: Final = 0.6
"""Of 72 dots an inch: 800 px are 2,000 dots of 300 an inch, 169 mm, the text width of A4."""


def picture_png(figure: Figure, look: Look) -> bytes:
    """The picture alone, for a page that has its title as text."""
    return _png(look.painted(to_file(figure.wide, figure.alt)))


def _png(svg: str) -> bytes:
    return png(svg, _SCALE, _DPI)


KINDS: Final[dict[str, Callable[[str], bytes]]] = {"svg": str.encode, "png": _png}
"""Ending → bytes of a drawn figure."""


def figure_files(document: Document, kinds: Iterable[str]) -> dict[str, bytes]:
    """Files by path in the folder of the report: ``figures/figure-postmark-ranking.svg``.

    Args:
        document: whose figures they are.
        kinds: of :data:`KINDS`.
    """

    def drawn(figure: Figure) -> str:
        svg = to_file(figure.wide, figure.alt, figure.title, figure.subtitle)
        return document.look.painted(svg)

    return {
        f"{FOLDER}/{figure.id}.{kind}": KINDS[kind](drawn(figure))
        for figure in document.figures()
        for kind in kinds
    }
