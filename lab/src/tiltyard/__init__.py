"""Tiltyard: a benchmark laboratory for file systems, settings and kernels."""

from importlib.metadata import version

__version__ = version("tiltyard")
