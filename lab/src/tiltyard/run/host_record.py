"""The system record of the host of a run, with the versions of the lab itself."""

import importlib.metadata
import platform
from pathlib import Path

from tiltyard import __version__
from tiltyard.host.record import Record, RecordRequest, take
from tiltyard.systems.tools import tools

_LIBRARIES = ("numpy", "scipy", "pydantic")
"""What results are computed and read with."""


def host_record(directory: Path, engine: str) -> Record:
    """The record of this host, as it is now.

    Args:
        directory: the study folder.
        engine: version of the engine.
    """
    return take(RecordRequest(directory.resolve(), tools(), own_versions(engine)))


def own_versions(engine: str) -> dict[str, str]:
    """Versions of the lab and of what it rests on."""
    return {
        "tiltyard": __version__,
        "engine": engine,
        "Python": platform.python_version(),
        **{name: importlib.metadata.version(name) for name in _LIBRARIES},
    }
