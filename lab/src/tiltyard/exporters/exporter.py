"""What an exporter is: a name, the file it writes, and how."""

from collections.abc import Callable
from dataclasses import dataclass

from tiltyard.analysis.model import Findings


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
