"""These tests change the host, and prove that nothing of it is left."""

from support.hosts import nothing_is_left, open_folder, state

__all__ = ["nothing_is_left", "open_folder", "state"]
