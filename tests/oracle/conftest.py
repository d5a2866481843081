"""Where the original and ours work, each in a directory of its own."""

from support.originals import memory

__all__ = ["memory"]
