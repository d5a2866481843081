"""What an exporter is: a name, the file it writes, and how."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from tiltyard.analysis.model import Findings

_NOT_XML: Final = re.compile(r"[^\t\n -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What XML cannot hold at all: control characters, halves of characters, two that are none."""


@dataclass(frozen=True)
class Exporter:
    """One format that other programs read."""

    name: str
    """What a person types: ``phoronix``, ``bencher``, ``openmetrics``, ``parquet``, ``csv``."""
    about: str
    file: str
    """Name of the file it writes, in the folder of the report: ``composite.xml``."""
    render: Callable[[Findings], bytes]
    """Findings → the whole file; pure."""
    text: bool = True
    """Whether a person could read it; what is no text is not written to a terminal."""


def xml_text(text: str) -> str:
    """A text without what XML cannot hold."""
    return _NOT_XML.sub("", text)
