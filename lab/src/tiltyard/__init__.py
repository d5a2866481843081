"""Tiltyard: a benchmark laboratory for file systems, settings and kernels."""

from os import PathLike
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tiltyard.app.load import LoadedStudy

try:
    # What the build has written: to ask what is installed takes a fifth of `tiltyard --version`.
    from tiltyard._version import __version__
except ImportError:
    from importlib.metadata import version

    __version__ = version("tiltyard")
__all__ = ["__version__", "load"]


def load(study: "str | PathLike[str]") -> "LoadedStudy":
    """A study for a program of yours: its findings as objects, its trials and values as tables.

    Args:
        study: the folder of a study that was run, imported or printed.
    """
    from tiltyard.app.load import LoadedStudy

    return LoadedStudy.at(study)
