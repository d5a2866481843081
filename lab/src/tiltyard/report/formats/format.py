"""What a format is."""

from collections.abc import Callable
from dataclasses import dataclass

from tiltyard.analysis.model import Findings
from tiltyard.report.document import Document


@dataclass(frozen=True)
class Format:
    """One form in which a document is printed."""

    name: str
    """What a person types: ``pdf``."""
    about: str
    file: str
    """The file that is opened first, in the folder of the report: ``report.pdf``."""
    render: Callable[[Document, Findings], dict[str, bytes]]
    """Document and the findings it was made of → files, by path in the folder of the report; pure,
    and the same bytes for the same findings."""
