"""Tiltyard: a benchmark laboratory for file systems, settings and kernels."""

__version__ = "0.1.0"
