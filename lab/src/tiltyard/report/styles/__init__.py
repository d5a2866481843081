"""House styles: what is printed, in which order; one file a style, and one line below."""

from typing import Final

from tiltyard.registry import Registry
from tiltyard.report.document import Document
from tiltyard.report.styles.style import Style


def _document(made: object) -> Document:
    if not isinstance(made, Document):
        raise TypeError(f"it composed {type(made).__name__}, not Document")
    return made


STYLES: Final = Registry[Style](
    "styles",
    {
        "study": ".study:STYLE",
        "whitepaper": "",
        "article": "",
        "results": "",
    },
    Style,
    within=__name__,
    unknown="is not a style",
    checks={"compose": _document},
)
"""All styles; the first is taken where none is asked for."""
