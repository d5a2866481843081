"""Python's garbage collector, told to wait."""

import atexit
import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def collector_paused() -> Iterator[None]:
    """No search for cycles of objects inside.

    For code that makes a great many objects and no cycles: the collector would walk through all
    of them again and again, for a third of the time, and find nothing.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def no_search_again() -> None:
    """What there is now stays: it is not searched for cycles again, however long the process."""
    gc.freeze()


def no_search_at_exit() -> None:
    """When the process ends, what is left is not searched for cycles: all of it is given back.

    After a large report the interpreter would look through everything that it was made of.
    """
    atexit.register(gc.freeze)
