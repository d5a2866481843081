"""Which engine is measured: the one that is installed or, for a while, another build of it."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

from tiltyard.executors.engine import Engine

_MEASURED: ContextVar[Path | None] = ContextVar("_MEASURED", default=None)


def engine() -> Path:
    """Its program."""
    return _MEASURED.get() or Engine.find().path


@contextmanager
def measuring(other: Path) -> Iterator[None]:
    """Inside, another one is measured."""
    was = _MEASURED.set(other)
    try:
        yield
    finally:
        _MEASURED.reset(was)
