"""Each test has a ledger of its own, and leaves nothing behind on the host."""

from support.hosts import nothing_is_left, state

__all__ = ["nothing_is_left", "state"]
