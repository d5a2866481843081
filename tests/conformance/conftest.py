"""These tests change the host, and prove that nothing of it is left."""

from support.far import far, far_host, far_server
from support.hosts import nothing_is_left, open_folder, state

__all__ = ["far", "far_host", "far_server", "nothing_is_left", "open_folder", "state"]
