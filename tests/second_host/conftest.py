"""These tests change a guest and nothing of this host: they run beside those of other rooms."""

from support.hosts import nothing_is_left, state

__all__ = ["nothing_is_left", "state"]
